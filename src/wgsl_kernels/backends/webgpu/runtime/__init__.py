"""Running programs on a device."""
