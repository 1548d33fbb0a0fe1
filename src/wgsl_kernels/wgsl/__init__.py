"""Reading and writing WGSL. Nothing here knows a device.

Text becomes ``tokens``, those a ``tree`` (``parser``), whose names ``resolve`` tells apart by
scope. ``reader`` takes from both the ``facts`` that composing asks for. ``rename`` and
``printer`` go back to text, and ``source_map`` leads from there to the author's places.
"""
