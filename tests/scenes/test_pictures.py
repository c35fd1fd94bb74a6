"""Pictures show what is there, and the `pact scenes` commands write them."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from pact_benchmark.preview import animation, contact_sheet, frame
from pact_benchmark.preview.raycast import Drawable, View, render
from pact_scenes.catalogue import load_catalogue
from pact_scenes.configuration import default_section
from pact_scenes.model import build_model
from pact_scenes.rollout import roll_out
from pact_scenes.simulators import open_simulator

RED, BLUE = (0.9, 0.1, 0.1), (0.1, 0.1, 0.9)
ZERO = np.zeros(3)


def _view(size: int = 90) -> View:
    return View(np.array([3.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0]), 40.0, size, size)


def _is(pixel: np.ndarray, colour: tuple[float, float, float]) -> bool:
    return int(np.argmax(pixel)) == int(np.argmax(colour)) and int(pixel.max()) > 2 * int(
        pixel.min()
    )


def test_nearer_thing_hides_the_farther():
    """A sphere before a box covers it, and is round."""
    box = Drawable(np.array([-1.0, 0.0, 1.0]), ZERO, 0.0, np.eye(3), np.full(3, 0.6), BLUE)
    ball = Drawable(np.array([0.5, 0.0, 1.0]), np.array([0.5, 0.0, 1.0]), 0.2, None, ZERO, RED)
    image = render(_view(), [box, ball], shadows=False)
    assert _is(image[45, 45], RED)
    red = np.array([[_is(p, RED) for p in row] for row in image])
    blue = np.array([[_is(p, BLUE) for p in row] for row in image])
    view = _view()
    edge = view.focal * np.tan(np.arcsin(0.2 / 2.5))
    assert np.count_nonzero(red) == pytest.approx(np.pi * edge**2, rel=0.05)
    assert np.count_nonzero(blue) > 500


def test_projection_agrees_with_the_picture():
    """The centre of a small ball is drawn where the view projects it."""
    place = np.array([0.3, -0.4, 1.3])
    ball = Drawable(place, place, 0.05, None, ZERO, RED)
    view = _view(200)
    image = render(view, [ball], shadows=False)
    rows, columns = np.nonzero([[_is(p, RED) for p in row] for row in image])
    assert np.allclose([columns.mean() + 0.5, rows.mean() + 0.5], view.project(place), atol=0.7)


def test_shadow_falls_on_the_floor():
    """A thing over the floor darkens it somewhere."""
    ball = Drawable(np.array([0.0, 0.0, 0.5]), np.array([0.0, 0.0, 0.5]), 0.3, None, ZERO, RED)
    view = View(np.array([2.0, 0.0, 2.0]), ZERO, 50.0, 80, 80)
    lit, shaded = (render(view, [ball], shadows=s).astype(int) for s in (False, True))
    darker = (lit - shaded).sum(axis=-1) > 60
    assert 50 < np.count_nonzero(darker) < 2500


def test_frame_and_animation_are_pictures():
    """A frame is a PNG of the wanted size; an animation is a GIF that moves."""
    model = build_model(load_catalogue()[9])
    image = Image.open(io.BytesIO(frame(model, 1.0, size=(200, 150))))
    assert image.format == "PNG"
    assert image.size == (200, 150)
    result = roll_out(model, open_simulator("kinematic"), record=True)
    data = animation(model, result.states, result.observations, size=(160, 120), rate=3.0)
    film = Image.open(io.BytesIO(data))
    assert film.n_frames >= 8
    film.seek(0)
    first = np.asarray(film.convert("RGB"), dtype=int)
    film.seek(film.n_frames - 1)
    last = np.asarray(film.convert("RGB"), dtype=int)
    assert np.abs(first - last).max() > 50


def test_contact_sheet_shows_all_scenes():
    """The sheet has a cell for every scene below its geometry, and no cell is empty."""
    sheet = Image.open(io.BytesIO(contact_sheet(default_section("scenes"), width=80)))
    tall, heading = 60 + 80 // 7, 80 // 5
    assert sheet.size == (8 * 80, 6 * tall + 3 * heading)
    pixels = np.asarray(sheet.convert("RGB"), dtype=int)
    for row in range(6):
        top = row * tall + (row // 2 + 1) * heading
        for column in range(8):
            assert pixels[top : top + 60, column * 80 : (column + 1) * 80].std() > 10


def test_drawing_shows_progress(pact, tmp_path):
    """Drawing many pictures counts them on standard error, and is silent when asked to be."""
    sheet = ["scenes", "sheet", "--width", "80", "--output", tmp_path / "sheet.png"]
    assert "scenes drawn: 48/48" in pact(*sheet, check=True).stderr
    assert pact(*sheet, "--quiet", check=True).stderr == ""
    film = ["--animate", "--backend", "kinematic", "--width", "160"]
    shown = pact("scenes", "preview", "13", *film, "--output", tmp_path / "film.gif", check=True)
    count, total = re.search(r"pictures: (\d+)/(\d+)", shown.stderr.splitlines()[-1]).groups()
    assert count == total != "0"


def test_commands_list_author_validate_and_draw(pact, tmp_path):
    """The commands work together: list, author, validate, preview, record."""
    listed = json.loads(pact("scenes", "list", "face_to_face", "--format", "json").stdout)
    assert len(listed) == 16
    assert listed[0]["geometry"] == "face_to_face"
    made = pact("scenes", "author", "7", "8", "--output", tmp_path, "--quiet")
    assert made.returncode == 0, made.stderr
    stages = sorted(tmp_path.glob("*.usda"))
    assert [s.stem for s in stages] == ["scene_007", "scene_008"]
    stages[1].write_text("#usda 1.0\n(\n")
    checked = pact("scenes", "validate", *stages, "--format", "json", "--quiet")
    report = json.loads(checked.stdout)
    assert checked.returncode == 1
    assert report["scenes"] == 2
    assert [i["rule"] for i in report["issues"]] == ["readable"]
    picture = tmp_path / "seven.png"
    assert pact("scenes", "preview", "7", "-o", picture, "--width", "160").returncode == 0
    assert Image.open(picture).size == (160, 120)
    recorded = pact("scenes", "record", "7", "-o", tmp_path, "--backend", "kinematic", "-q")
    assert recorded.returncode == 0, recorded.stderr
    assert (tmp_path / "scene_007.recording.usda").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("list", "scene_099"), "scene_001 to scene_048"),
        (("preview", "side_by_side"), "names 16 scenes"),
        (("record", "1", "--backend", "bullet"), "no backend 'bullet'"),
        (("validate", "nowhere.usda"), "no such file"),
    ],
)
def test_wrong_request_is_one_clear_line(pact, tmp_path, arguments, words):
    """A wrong scene, backend or file is answered without a traceback."""
    answer = pact("scenes", *arguments, cwd=tmp_path)
    assert answer.returncode in (1, 2)
    assert words in answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr
    assert list(tmp_path.iterdir()) == []
