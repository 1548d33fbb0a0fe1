"""A display for the tests of this folder that open a window."""

from tests.displays import display as display
