"""Tests that run inside an installation of Isaac Sim (`omni.kit.test`)."""

scan_for_test_modules = True
