"""Watching what runs: profiles, explanations, coverage, two backends in lockstep."""
