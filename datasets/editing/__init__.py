"""Editing: verbs that write a new dataset and never touch the old one."""
