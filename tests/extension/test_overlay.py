"""The overlay on real stages: session layer only, other opinions kept, removed as a whole."""

from __future__ import annotations

import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade

from pact_handover.overlay import ROOT, Markers, SessionOverlay
from pact_handover.palette import OUTCOMES, outcome_of, rgb


@pytest.fixture
def stage():
    """A stage with an object (two shapes, a bound material) and a hand."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.Xform.Define(stage, "/World/Object")
    cube = UsdGeom.Cube.Define(stage, "/World/Object/shape")
    cube.CreateDisplayColorAttr([Gf.Vec3f(0.1, 0.2, 0.3)])
    UsdGeom.Sphere.Define(stage, "/World/Object/ball")
    UsdGeom.Capsule.Define(stage, "/World/Hand")
    look = UsdShade.Material.Define(stage, "/World/Looks/grey")
    UsdShade.MaterialBindingAPI.Apply(cube.GetPrim()).Bind(look)
    return stage


def bound(stage, path):
    """Return the path of the material that a prim is drawn with."""
    prim = stage.GetPrimAtPath(path)
    return str(UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0].GetPath())


def colour(stage, path):
    """Return the display colour of a prim."""
    return tuple(UsdGeom.Gprim.Get(stage, path).GetDisplayColorAttr().Get()[0])


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_outcome_colours_prims_in_the_session_layer(stage, outcome):
    """Colour and material change on object and hand; the root layer does not change."""
    before = stage.GetRootLayer().ExportToString()
    overlay = SessionOverlay(stage, ["/World/Object", "/World/Hand", "/World/Missing"])
    assert overlay.show(outcome)
    for path in ("/World/Object/shape", "/World/Object/ball", "/World/Hand"):
        assert colour(stage, path) == pytest.approx(rgb(OUTCOMES[outcome].colour), abs=1e-6)
        assert bound(stage, path) == f"{ROOT}/Looks/{outcome}"
    assert stage.GetRootLayer().ExportToString() == before
    assert stage.GetEditTarget().GetLayer() == stage.GetRootLayer()


def test_removal_restores_everything_and_keeps_other_session_opinions(stage):
    """After removal the stage is as before, including what others put into the session layer."""
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        UsdGeom.Gprim.Get(stage, "/World/Hand").CreateDisplayColorAttr([Gf.Vec3f(0, 0, 1)])
    before = stage.Flatten().ExportToString()
    overlay = SessionOverlay(stage, ["/World/Object", "/World/Hand"])
    overlay.show("hold", Markers(sight=(((0, 0, 1), (1, 0, 1), True),)))
    assert colour(stage, "/World/Hand") == (0, 0, 1)
    overlay.remove()
    overlay.remove()
    assert stage.Flatten().ExportToString() == before
    assert list(stage.GetSessionLayer().subLayerPaths) == []


def test_nothing_is_written_when_nothing_changed(stage):
    """The same outcome and lines again leave the layer alone."""
    overlay = SessionOverlay(stage, ["/World/Hand"])
    markers = Markers(clearance=((0, 0, 0), (0, 0, 1)))
    assert overlay.show("confirm", markers)
    text = overlay.layer.ExportToString()
    assert not overlay.show("confirm", markers)
    assert not overlay.show("confirm")
    assert overlay.layer.ExportToString() == text


def test_lines_are_drawn_by_kind(stage):
    """Free and blocked sight lines and the clearance are separate curves, hidden when empty."""
    overlay = SessionOverlay(stage, [])
    eye = (0.0, 0.0, 1.0)
    overlay.show("hold", Markers(sight=((eye, (1, 0, 1), True), (eye, (2, 0, 1), False))))
    free = UsdGeom.BasisCurves.Get(stage, ROOT.AppendChild("SightFree"))
    blocked = UsdGeom.BasisCurves.Get(stage, ROOT.AppendChild("SightBlocked"))
    clearance = UsdGeom.BasisCurves.Get(stage, ROOT.AppendChild("Clearance"))
    assert [tuple(p) for p in free.GetPointsAttr().Get()] == [eye, (2, 0, 1)]
    assert list(blocked.GetCurveVertexCountsAttr().Get()) == [2]
    assert blocked.GetWidthsAttr().Get()[0] > free.GetWidthsAttr().Get()[0]
    assert clearance.GetVisibilityAttr().Get() == UsdGeom.Tokens.invisible
    overlay.show("hold", Markers(clearance=(eye, (0, 0, 0))))
    assert free.GetVisibilityAttr().Get() == UsdGeom.Tokens.invisible
    assert clearance.GetVisibilityAttr().Get() == UsdGeom.Tokens.inherited


def test_overlay_is_not_saved_with_the_stage(stage, tmp_path):
    """A stage saved while the overlay is shown does not hold it."""
    overlay = SessionOverlay(stage, ["/World/Object"])
    overlay.show("fallback")
    stage.Export(str(tmp_path / "flat.usda"))
    stage.GetRootLayer().Export(str(tmp_path / "root.usda"))
    layer = Sdf.Layer.FindOrOpen(str(tmp_path / "root.usda"))
    assert "PactOverlay" not in layer.ExportToString()


def test_outcomes_are_told_apart_without_colour():
    """Words differ, and so does the lightness of the fill colours of neighbouring outcomes."""
    words = [look.word for look in OUTCOMES.values()]
    assert len(set(words)) == len(words)
    assert outcome_of("withheld", "hold", "score_selection") == "withheld"
    assert outcome_of("withheld", "hold", "risk_support") == "hold"
    assert outcome_of("admitted", "none", None) == "admitted"


@pytest.mark.parametrize("look", OUTCOMES.values(), ids=OUTCOMES)
def test_text_on_fills_can_be_read(look):
    """Ink on fill reaches a contrast ratio of 3 (large text)."""

    def luminance(code):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb(code)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(look.colour), luminance(look.ink)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 3.0
