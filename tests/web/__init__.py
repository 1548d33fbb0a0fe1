"""Tests of programs for browsers."""
