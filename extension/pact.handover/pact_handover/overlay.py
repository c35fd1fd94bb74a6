"""What PACT shows on the stage: colours, sight lines and clearance, in a layer of its own.

The overlay is an anonymous sublayer of the session layer. It is never saved with the stage, leaves
other session opinions alone, and disappears as a whole when it is removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, Vt

from .palette import CLEARANCE, OUTCOMES, SIGHT_BLOCKED, SIGHT_FREE, rgb

ROOT = Sdf.Path("/PactOverlay")
Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Markers:
    """Lines to draw, in world coordinates [m].

    Attributes:
        sight: Camera point, target point, and whether something blocks the view.
        clearance: The two closest points of robot and human, or None.
    """

    sight: tuple[tuple[Point, Point, bool], ...] = ()
    clearance: tuple[Point, Point] | None = None


class SessionOverlay:
    """Colours prims by outcome and draws lines on one stage, until removed.

    Args:
        stage: The open stage.
        prim_paths: Prims to colour; those that do not exist are left out.
    """

    def __init__(self, stage: Usd.Stage, prim_paths: Sequence[str]) -> None:
        self._stage = stage
        self._paths = [path for path in prim_paths if stage.GetPrimAtPath(path)]
        self._outcome: str | None = None
        self._markers: Markers | None = None
        self._layer = Sdf.Layer.CreateAnonymous("pact-overlay.usda")
        stage.GetSessionLayer().subLayerPaths.insert(0, self._layer.identifier)
        with self._editing():
            UsdGeom.Scope.Define(stage, ROOT)
            for name, look in OUTCOMES.items():
                self._define_material(name, rgb(look.colour))
            self._lines = {
                "SightFree": self._define_lines("SightFree", SIGHT_FREE, 0.004),
                "SightBlocked": self._define_lines("SightBlocked", SIGHT_BLOCKED, 0.010),
                "Clearance": self._define_lines("Clearance", CLEARANCE, 0.008),
            }

    @property
    def layer(self) -> Sdf.Layer:
        """The anonymous layer that holds everything."""
        return self._layer

    def show(self, outcome: str, markers: Markers | None = None) -> bool:
        """Show an outcome and, when given, lines; return whether anything changed.

        Call it from a frame update, never from a physics callback.
        """
        colour_changed = outcome != self._outcome
        lines_changed = markers is not None and markers != self._markers
        if not (colour_changed or lines_changed):
            return False
        with self._editing():
            if colour_changed:
                self._colour(outcome)
            if lines_changed and markers is not None:
                self._draw(markers)
        return True

    def remove(self) -> None:
        """Take the whole overlay off the stage; removing twice is allowed."""
        layers = self._stage.GetSessionLayer().subLayerPaths
        if self._layer.identifier in list(layers):
            layers.remove(self._layer.identifier)
        self._lines.clear()

    def _editing(self) -> Usd.EditContext:
        return Usd.EditContext(self._stage, Usd.EditTarget(self._layer))

    def _define_material(self, name: str, colour: tuple[float, float, float]) -> None:
        material = UsdShade.Material.Define(self._stage, ROOT.AppendPath(f"Looks/{name}"))
        shader = UsdShade.Shader.Define(self._stage, material.GetPath().AppendChild("Surface"))
        shader.CreateIdAttr("UsdPreviewSurface")
        shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(Gf.Vec3f(*colour))
        shader.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(0.6)
        shader.CreateOutput("surface", Sdf.ValueTypeNames.Token)
        material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")

    def _define_lines(self, name: str, colour: str, width: float) -> UsdGeom.BasisCurves:
        curves = UsdGeom.BasisCurves.Define(self._stage, ROOT.AppendChild(name))
        curves.CreateTypeAttr(UsdGeom.Tokens.linear)
        curves.CreateWidthsAttr(Vt.FloatArray([width]))
        curves.SetWidthsInterpolation(UsdGeom.Tokens.constant)
        curves.CreateDisplayColorAttr(Vt.Vec3fArray([Gf.Vec3f(*rgb(colour))]))
        self._set_lines(curves, [])
        return curves

    def _colour(self, outcome: str) -> None:
        material = UsdShade.Material.Get(self._stage, ROOT.AppendPath(f"Looks/{outcome}"))
        colour = Vt.Vec3fArray([Gf.Vec3f(*rgb(OUTCOMES[outcome].colour))])
        for path in self._paths:
            for prim in Usd.PrimRange(self._stage.GetPrimAtPath(path)):
                if prim.IsA(UsdGeom.Gprim):
                    UsdGeom.Gprim(prim).CreateDisplayColorAttr().Set(colour)
            prim = self._stage.GetPrimAtPath(path)
            UsdShade.MaterialBindingAPI.Apply(prim).Bind(
                material, bindingStrength=UsdShade.Tokens.strongerThanDescendants
            )
        self._outcome = outcome

    def _draw(self, markers: Markers) -> None:
        free = [(a, b) for a, b, blocked in markers.sight if not blocked]
        stopped = [(a, b) for a, b, blocked in markers.sight if blocked]
        near = [markers.clearance] if markers.clearance else []
        for name, lines in (("SightFree", free), ("SightBlocked", stopped), ("Clearance", near)):
            self._set_lines(self._lines[name], lines)
        self._markers = markers

    @staticmethod
    def _set_lines(curves: UsdGeom.BasisCurves, lines: Sequence[tuple[Point, Point]]) -> None:
        points = [Gf.Vec3f(*point) for line in lines for point in line]
        curves.CreatePointsAttr(Vt.Vec3fArray(points))
        curves.CreateCurveVertexCountsAttr(Vt.IntArray([2] * len(lines)))
        curves.CreateVisibilityAttr(UsdGeom.Tokens.inherited if lines else UsdGeom.Tokens.invisible)
