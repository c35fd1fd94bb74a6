"""`pact scenes`: list, plan, author, validate, draw and record the scenes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pact_benchmark.commands import _completion
from pact_benchmark.commands._options import (
    ConfigOption,
    FormatOption,
    JobsOption,
    QuietOption,
    SeedOption,
    UnusedQuietOption,
)
from pact_benchmark.console import Console, Format, emit_json
from pact_benchmark.errors import PactError, UsageError

if TYPE_CHECKING:
    from pact_scenes.catalogue import SceneSpec

scenes = typer.Typer(
    help="List, author, validate, draw and record the 48 scenes.", no_args_is_help=True
)

ScenesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        help="Scene ids, numbers or geometries; all when none is named.",
        autocompletion=_completion.scenes,
    ),
]
SceneArgument = Annotated[
    str, typer.Argument(help="Scene id or number.", autocompletion=_completion.scenes)
]
FolderOption = Annotated[Path, typer.Option("--output", "-o", help="Where the files go.")]
BackendOption = Annotated[
    str,
    typer.Option(
        "--backend",
        help="Whose motion is shown: auto, physx or kinematic.",
        autocompletion=_completion.backends,
    ),
]
STAGES = Path("stages")


@scenes.command("list")
def list_scenes(
    names: ScenesArgument = None,
    config: ConfigOption = None,
    seed: SeedOption = None,
    quiet: UnusedQuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Print the catalogue: what every scene asks for and what its plan achieves.

    `--seed` draws another catalogue than the configuration's.

    Examples: pact scenes list; pact scenes list side_by_side --format json
    """
    from pact_benchmark.catalogue_table import catalogue_frame, catalogue_text

    specs = chosen(names, config, seed)
    if format is Format.JSON:
        emit_json(catalogue_frame(specs).to_dict("records"))
    else:
        typer.echo(catalogue_text(specs))


@scenes.command("plan")
def plan_scenes(
    names: ScenesArgument = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="JSON file for the plans.")
    ] = None,
    config: ConfigOption = None,
    seed: SeedOption = None,
    jobs: JobsOption = 2,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Solve scenes anew: inverse kinematics, approach, placement, clearances.

    Plans of the shipped catalogue come with the package; this makes them again. Other catalogues
    are planned by the commands that need them.

    Examples: pact scenes plan 1 2 3; pact scenes plan --output plans.json
    """
    from pact_benchmark.planning import plan_all
    from pact_benchmark.store import write_atomically
    from pact_scenes.plan import write_plans

    specs = chosen(names, config, seed)
    plans = plan_all(specs, jobs, Console(quiet))
    if output is not None:
        write_atomically(output, write_plans(specs, plans).encode("utf-8"))
    report = {name: dict(plan.achieved) for name, plan in plans.items()}
    if format is Format.JSON:
        emit_json(report)
        return
    for name, values in report.items():
        typer.echo(f"{name}  " + "  ".join(f"{k} {v:.3f}" for k, v in values.items()))


@scenes.command()
def author(
    names: ScenesArgument = None,
    output: FolderOption = STAGES,
    config: ConfigOption = None,
    seed: SeedOption = None,
    binary: Annotated[bool, typer.Option("--binary", help="Binary .usd, not .usda text.")] = False,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Write scenes as self-contained USD stages for Isaac Sim, usdview or PhysX.

    Examples: pact scenes author; pact scenes author 7 --output /tmp/stages
    """
    _need_usd()
    from pact_scenes.planning import model_for
    from pact_scenes.stage import StageError, write_stage

    specs, rate = chosen(names, config, seed), _physics_rate(config)
    suffix = ".usd" if binary else ".usda"
    written = []
    with Console(quiet).progress("stages", len(specs)) as bar:
        for spec in specs:
            try:
                path = write_stage(model_for(spec), output / f"{spec.scene_id}{suffix}", rate)
            except StageError as error:
                raise PactError(str(error)) from error
            written.append(str(path))
            bar.advance()
    if format is Format.JSON:
        emit_json({"scenes": len(written), "files": written})
    else:
        typer.echo(f"{len(written)} stages in {output}")


@scenes.command()
def validate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Stage files; when none is named the catalogue is authored and checked."
        ),
    ] = None,
    config: ConfigOption = None,
    seed: SeedOption = None,
    asset_validator: Annotated[
        bool, typer.Option(help="Run the Omniverse asset validator beside our own rules.")
    ] = True,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Check stages with the Omniverse asset validator and with the rules it lacks.

    Own rules: units, default prim, no outside files, nested rigid bodies, kinematic articulation
    roots, extents, masses, determinism, cameras, drives, start pose, reachability. Exits with 1
    when there are issues.

    Examples: pact scenes validate; pact scenes validate stages/scene_007.usda --format json
    """
    _need_usd()
    from pact_scenes.validation import asset_validator_missing

    missing = asset_validator_missing()
    if asset_validator and missing:
        raise UsageError(f"{missing}, or pass --no-asset-validator")
    count, issues = _issues(files, config, seed, asset_validator, Console(quiet))
    if format is Format.JSON:
        emit_json({"scenes": count, "issues": issues})
    else:
        for issue in issues:
            typer.echo(f"{issue['file']} {issue['path']}: {issue['message']} ({issue['rule']})")
        typer.echo(f"{count} stages, {len(issues)} issues")
    if issues:
        raise typer.Exit(1)


def _issues(
    files: Sequence[Path] | None,
    config: Path | None,
    seed: int | None,
    asset_validator: bool,
    console: Console,
) -> tuple[int, list[dict[str, Any]]]:
    """Stages checked, and what is wrong with them."""
    import tempfile

    from pact_scenes.planning import model_for
    from pact_scenes.stage import write_stage
    from pact_scenes.validation import validate_file

    issues: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="pact-") as folder:
        specs = () if files else chosen(None, config, seed)
        names = list(files or ()) or [Path(folder) / f"{s.scene_id}.usda" for s in specs]
        with console.progress("validation", len(names)) as bar:
            for index, path in enumerate(names):
                if not files:
                    write_stage(model_for(specs[index]), path, _physics_rate(config))
                found = validate_file(path, asset_validator=asset_validator)
                shown = str(path) if files else path.name
                issues += [{**issue.as_dict(), "file": shown} for issue in found]
                bar.advance()
    return len(names), issues


@scenes.command()
def preview(
    name: SceneArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The picture; scene_NNN.png by default.")
    ] = None,
    animate: Annotated[bool, typer.Option("--animate", help="A GIF of the motion.")] = False,
    at: Annotated[
        float | None,
        typer.Option(min=0.0, help="Time in seconds; the end of the approach by default."),
    ] = None,
    backend: BackendOption = "auto",
    config: ConfigOption = None,
    seed: SeedOption = None,
    width: Annotated[int, typer.Option(min=160, max=3840, help="Width in pixels.")] = 960,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Draw one scene, or with `--animate` its simulated motion, without a display.

    Examples: pact scenes preview 13; pact scenes preview 13 --animate --width 480
    """
    from pact_benchmark.preview import animation, frame
    from pact_benchmark.store import write_atomically
    from pact_scenes.planning import model_for

    spec = _one(name, config, seed)
    model = model_for(spec)
    target = output or Path(f"{spec.scene_id}.{'gif' if animate else 'png'}")
    if animate:
        console = Console(quiet)
        rollout = _recorded(model, backend, config, console)
        size = (width, width * 3 // 4)
        content = animation(model, rollout.states, rollout.observations, size=size, console=console)
    else:
        time = model.plan.approach_time if at is None else at
        content = frame(model, time, size=(width, width * 3 // 4))
    write_atomically(target, content)
    _report_file(target, format)


@scenes.command()
def sheet(
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture.")] = Path(
        "scenes.png"
    ),
    config: ConfigOption = None,
    width: Annotated[int, typer.Option(min=80, max=640, help="Width of a cell in pixels.")] = 240,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Draw all scenes at their transfer on one contact sheet.

    Examples: pact scenes sheet; pact scenes sheet --output sheet.png --width 320
    """
    from pact_benchmark.config import load_config
    from pact_benchmark.preview import contact_sheet
    from pact_benchmark.store import write_atomically

    section = load_config(config).section("scenes")
    write_atomically(output, contact_sheet(section, width=width, console=Console(quiet)))
    _report_file(output, format)


@scenes.command()
def record(
    name: SceneArgument,
    output: FolderOption = STAGES,
    backend: BackendOption = "auto",
    rerun: Annotated[bool, typer.Option("--rerun", help="Write a Rerun recording too.")] = False,
    config: ConfigOption = None,
    seed: SeedOption = None,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Simulate one scene and write its motion as a USD layer over its stage.

    Open scene_NNN.recording.usda in usdview or Isaac Sim and play it.

    Examples: pact scenes record 13; pact scenes record 13 --rerun --output recordings
    """
    _need_usd()
    from pact_scenes.planning import model_for
    from pact_scenes.stage import StageError, write_stage
    from pact_scenes.stage_recording import write_recording

    spec = _one(name, config, seed)
    model = model_for(spec)
    rollout = _recorded(model, backend, config, Console(quiet))
    stage = output / f"{spec.scene_id}.usda"
    recording = output / f"{spec.scene_id}.recording.usda"
    try:
        write_stage(model, stage, _physics_rate(config))
        write_recording(model, rollout.states, recording, f"./{stage.name}")
    except StageError as error:
        raise PactError(str(error)) from error
    files = [stage, recording]
    if rerun:
        from pact_benchmark.preview.rerun_export import write_rerun

        files.append(write_rerun(model, rollout, output / f"{spec.scene_id}.rrd"))
    if format is Format.JSON:
        emit_json({"files": [str(f) for f in files], "states": len(rollout.states)})
    else:
        for file in files:
            typer.echo(str(file))


def chosen(
    names: Sequence[str] | None, config: Path | None, seed: int | None
) -> tuple[SceneSpec, ...]:
    """Scenes by id, number or geometry.

    Raises:
        UsageError: A name matches nothing, or the configuration is wrong.
    """
    from pact_benchmark.config import load_config
    from pact_scenes.catalogue import UnknownSceneError, load_catalogue, select_scenes
    from pact_scenes.configuration import ConfigurationError

    section = load_config(config).section("scenes")
    try:
        return select_scenes(load_catalogue(section, seed), list(names or ()))
    except (UnknownSceneError, ConfigurationError) as error:
        raise UsageError(str(error)) from error


def _one(name: str, config: Path | None, seed: int | None) -> SceneSpec:
    specs = chosen([name], config, seed)
    if len(specs) != 1:
        raise UsageError(f"{name!r} names {len(specs)} scenes; give one, such as 13 or scene_013")
    return specs[0]


def _need_usd() -> None:
    import importlib.util

    if importlib.util.find_spec("pxr") is None:
        from pact_scenes.installation import install_command

        raise UsageError(f"usd-core not installed; run: {install_command('sim')}")


def _physics_rate(config: Path | None) -> int:
    from pact_benchmark.config import load_config

    return int(load_config(config).section("simulation")["rollout"]["physics_rate"])


def _recorded(model: Any, backend: str, config: Path | None, console: Console) -> Any:
    """A rollout with the state at every target update."""
    from pact_benchmark.config import load_config
    from pact_scenes.rollout import roll_out
    from pact_scenes.settings import SimulationSettings
    from pact_scenes.simulators import (
        BackendUnavailableError,
        SimulationError,
        choose_backend,
        open_simulator,
    )

    settings = SimulationSettings.from_mapping(load_config(config).section("simulation"))
    try:
        taken, why = choose_backend(backend)
    except BackendUnavailableError as error:
        raise UsageError(str(error)) from error
    console.say(f"backend: {taken} ({why})")
    try:
        return roll_out(model, open_simulator(taken), settings, record=True)
    except SimulationError as error:
        raise PactError(f"{model.spec.scene_id} could not be simulated: {error}") from error


def _report_file(path: Path, format: Format) -> None:
    if format is Format.JSON:
        emit_json({"file": str(path), "bytes": path.stat().st_size})
    else:
        typer.echo(str(path))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(scenes, name="scenes")
