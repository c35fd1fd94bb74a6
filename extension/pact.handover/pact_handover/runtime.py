"""The running extension: connects session and scene with timeline, stage and physics step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pact_scenes.model import SceneModel, build_model
from pact_scenes.simulators.isaac import IsaacScene
from pact_scenes.stage import StageError, scene_of_stage, write_stage

from . import explain as explanation
from .api import EVENT_RESPONSE
from .kit import events, log, physics, stage
from .kit import settings as kit_settings
from .options import OptionError, Options, scene_ids
from .overlay import SessionOverlay
from .results import ResponseChange, StepRecord
from .session import HandoverSession

SETTINGS_ROOT = "/exts/pact.handover"
OWNER = "pact.handover"


class HandoverRuntime:
    """Attaches to the physics step on play, releases it on stop and on a stage change.

    Decisions are made in the step callback; colours, lines and settings are handled once per
    frame. It implements `HandoverInterface`.
    """

    def __init__(self) -> None:
        self._usable = Options()
        self._session = HandoverSession(self._read_options(), self._announce)
        self._hook = physics.StepHook(self._before_step, self._after_step, self._on_error)
        self._subscriptions = events.Subscriptions(OWNER)
        self._watch: kit_settings.SettingsWatch | None = None
        self._model: SceneModel | None = None
        self._scene: IsaacScene | None = None
        self._overlay: SessionOverlay | None = None
        self._overlay_wanted = self.options.overlay
        self._settings_changed = self._writing_settings = False
        self._release_due = self._released = False
        self._opening: Any = None

    def start(self) -> None:
        """Subscribe to timeline, stage, frames and settings; take up the open stage."""
        self._subscriptions.on_timeline(play=self._on_play, pause=_nothing, stop=self._on_stop)
        self._subscriptions.on_stage(opened=self._on_opened, closing=self._release_stage)
        self._subscriptions.on_update(self._on_frame)
        self._watch = kit_settings.SettingsWatch(SETTINGS_ROOT, self._on_settings)
        self._on_opened()
        if events.playing():
            self._on_play()

    def close(self) -> None:
        """Release everything in the reverse order; closing twice is allowed."""
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.cancel()
        if self._watch is not None:
            self._watch.close()
        self._subscriptions.release()
        self._release_stage()

    # --- interface ----------------------------------------------------------------------------

    @property
    def options(self) -> Options:
        """The settings in force."""
        return self._session.options

    @property
    def latest(self) -> StepRecord | None:
        """The last decision, or None before the first one."""
        return self._session.latest

    @property
    def history(self) -> Sequence[StepRecord]:
        """Decisions since play, oldest first."""
        return self._session.history

    @property
    def step_costs(self) -> Sequence[float]:
        """Seconds that the last decisions took, observation included."""
        return self._session.step_costs

    @property
    def recording(self) -> bool:
        """Whether a recording runs."""
        return self._session.recording

    def scenes(self) -> tuple[str, ...]:
        """Return the ids of all scenes."""
        return scene_ids()

    def configure(self, **values: Any) -> Options:
        """Change settings and return those in force."""
        options = self.options.changed(**values)
        self._session.use(options)
        if "overlay" in values:
            self.show_overlay(options.overlay)
        self._writing_settings = True
        try:
            chosen = options.to_settings()
            kit_settings.write(SETTINGS_ROOT, {name: chosen[name] for name in values})
        finally:
            self._writing_settings = False
        return options

    def build_scene(self, scene: str | None = None, *, force: bool = False) -> Path:
        """Author a scene's stage and open it; return its file."""
        if scene is not None:
            self.configure(scene=scene)
        spec = self._session.spec(self.options.scene)
        folder = self.options.resolved_folder() / "stages"
        if stage.has_unsaved_edits() and self._model is None and not force:
            raise RuntimeError(
                "The open stage has edits that are not saved: save it, or build with force=True."
            )
        folder.mkdir(parents=True, exist_ok=True)
        rate = self._session.settings.rollout.physics_rate
        path = write_stage(build_model(spec), folder / f"{spec.scene_id}.usda", rate)
        events.stop()
        self._opening = stage.open_soon(path)
        return path

    def explain(self, record: StepRecord) -> tuple[str, str]:
        """Return why the outcome is what it is, and what would change it."""
        return explanation.explain(record)

    def play(self) -> None:
        """Start the simulation."""
        events.play()

    def pause(self) -> None:
        """Pause the simulation."""
        events.pause()

    def stop(self) -> None:
        """Stop the simulation and go back to the start."""
        events.stop()

    def start_recording(self, folder: Path | None = None) -> Path:
        """Record every decision from now on; return the folder."""
        return self._session.start_recording(folder)

    def stop_recording(self) -> Path | None:
        """Finish the recording; return its folder, or None when none was running."""
        return self._session.stop_recording()

    def export(self, folder: Path | None = None) -> Path:
        """Write the decisions in memory as a recording; return its folder."""
        return self._session.export(folder)

    def show_overlay(self, shown: bool) -> None:
        """Colour the stage by response, or take the colours off."""
        self._overlay_wanted = shown
        if not shown:
            self._remove_overlay()

    # --- stage and timeline -------------------------------------------------------------------

    def _on_opened(self) -> None:
        self._release_stage()
        opened = stage.current()
        if opened is None:
            return
        try:
            spec = scene_of_stage(opened)
        except StageError:
            return
        self._model = self._session.open(spec.scene_id)

    def _bind_scene(self) -> IsaacScene | None:
        """Wrap the bodies of the open PACT stage, once per stage.

        Not in the event of opening: the simulation manager drops what was registered with it
        when it handles that event itself.
        """
        opened = stage.current()
        if self._scene is None and self._model is not None and opened is not None:
            self._scene = IsaacScene(opened, self._model)
        return self._scene

    def _release_stage(self) -> None:
        self._on_stop()
        self._remove_overlay()
        self._session.close()
        self._scene = self._model = None

    def _on_play(self) -> None:
        scene = self._bind_scene()
        if scene is None or self._hook.attached:
            return
        if physics.engine() != "physx":
            log.warn(f"PACT needs the PhysX engine; {physics.engine()} is active. Nothing decides.")
            return
        scene.rewind()
        self._release_due = self._released = False
        self._session.begin()
        self._hook.attach()

    def _on_stop(self) -> None:
        self._hook.detach()
        self._session.end()

    # --- physics step -------------------------------------------------------------------------

    def _before_step(self, dt: float) -> None:
        if self._scene is not None:
            target = self._session.target()
            self._scene.command(target.joints, target.human_position, target.human_quaternion)
            self._release_due = self._release_due or bool(target.released)

    def _after_step(self, dt: float) -> None:
        if self._scene is None:
            return
        if self._session.advance(dt):
            self._session.decide(self._scene.state(self._session.time, dt), dt)

    def _on_error(self, problem: Exception) -> None:
        log.error(f"Stopped deciding: {type(problem).__name__}: {problem}")

    # --- frame --------------------------------------------------------------------------------

    def _on_frame(self) -> None:
        if self._settings_changed:
            self._settings_changed = False
            former = self.options.overlay
            self._session.use(self._read_options())
            if self.options.overlay != former:
                self.show_overlay(self.options.overlay)
        self._bind_scene()
        if self._release_due and not self._released and self._scene is not None:
            self._released = True
            self._scene.release()
        if self._overlay_wanted and self._session.latest is not None:
            self._show_overlay()

    def _show_overlay(self) -> None:
        opened, latest = stage.current(), self._session.latest
        if opened is None or latest is None or self._scene is None:
            return
        if self._overlay is None:
            self._overlay = SessionOverlay(opened, self._session.coloured_paths())
        self._overlay.show(latest.lead.outcome, self._session.markers())

    def _remove_overlay(self) -> None:
        overlay, self._overlay = self._overlay, None
        if overlay is not None:
            overlay.remove()

    # --- settings and events ------------------------------------------------------------------

    def _on_settings(self) -> None:
        if not self._writing_settings:
            self._settings_changed = True

    def _read_options(self) -> Options:
        try:
            values = kit_settings.read(SETTINGS_ROOT, Options.names())
            self._usable = Options.from_settings(values)
        except OptionError as error:
            log.warn(f"{error}. The former settings stay in force.")
        return self._usable

    def _announce(self, change: ResponseChange) -> None:
        events.dispatch(EVENT_RESPONSE, change.payload())


def _nothing() -> None:
    """Do nothing: a pause needs no work, since no step is taken."""
