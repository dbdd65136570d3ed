"""Random programs of attention, run at every level against what they mean.

docs/Fuzzing.md says what is drawn and what is checked. The modules, from the
bottom: ``source`` (choices), ``nodes`` (expressions and how exact they are),
``dialects`` (how they are written for either front end), ``captures``,
``expressions`` (score_mods and mask_mods), ``aten`` (what only PyTorch has),
``program`` (all of it, as text), ``data`` (inputs), ``execute`` (levels),
``rules`` (what is right), ``shrink``, ``worker`` and ``runner`` (many).
"""
