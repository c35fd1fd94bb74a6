"""Offline human–robot-collaboration admission from recorded model outputs."""
