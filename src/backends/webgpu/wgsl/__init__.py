"""Reading WGSL: text in, facts and spans out. Nothing here knows a device."""
