"""Random attention programs, run at every level and compared with the attn-level meaning.

test/Fuzz/README.md describes what is drawn and checked. The modules, bottom up: ``source``
(choices), ``nodes`` (expressions and their error bounds), ``dialects`` (their text for either front
end), ``captures``, ``expressions`` (score_mods and mask_mods), ``aten`` (PyTorch-only ops),
``program`` (the whole program as text), ``data`` (inputs), ``execute`` (levels), ``rules``
(tolerances), ``shrink``, ``worker`` and ``runner`` (many programs).
"""
