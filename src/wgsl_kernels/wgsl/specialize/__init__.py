"""Specialising: a linked module and values of its constants in, a shorter module out."""
