#!/usr/bin/env bash
# ELAN lets a person divide an annotation into words without setting their times: the time slots between them have no TIME_VALUE, and ELAN
# spreads them evenly. pympi returns None for such times, and to_textgrid() leaves these words out without a message. Of several annotations
# that explain one parent (symbolic subdivision), all have the parent's times, and to_textgrid() keeps the first alone.
# Seen with pympi-ling 1.71, its last release, on Python 3.11, an utterance of 3 s that is divided into 3 words, with 2 glosses:
#   words   (1000, None) (None, None) (None, 4000)   in the TextGrid: no word
#   glosses (1000, 4000) (1000, 4000)                in the TextGrid: the first
# Consequence: count the annotations before and after, or give times to slots between their neighbours first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check pympi-ling==1.71
cat >a.eaf <<'ELAN'
<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="" DATE="2026-11-01T10:00:00+01:00" FORMAT="3.0" VERSION="3.0"
  xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="http://www.mpi.nl/tools/elan/EAFv3.0.xsd">
  <HEADER MEDIA_FILE="" TIME_UNITS="milliseconds"/>
  <TIME_ORDER>
    <TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="1000"/>
    <TIME_SLOT TIME_SLOT_ID="ts2"/>
    <TIME_SLOT TIME_SLOT_ID="ts3"/>
    <TIME_SLOT TIME_SLOT_ID="ts4" TIME_VALUE="4000"/>
  </TIME_ORDER>
  <TIER LINGUISTIC_TYPE_REF="utterance" TIER_ID="utterances">
    <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts4">
      <ANNOTATION_VALUE>one two three</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
  </TIER>
  <TIER LINGUISTIC_TYPE_REF="word" PARENT_REF="utterances" TIER_ID="words">
    <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2">
      <ANNOTATION_VALUE>one</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
    <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a3" TIME_SLOT_REF1="ts2" TIME_SLOT_REF2="ts3">
      <ANNOTATION_VALUE>two</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
    <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a4" TIME_SLOT_REF1="ts3" TIME_SLOT_REF2="ts4">
      <ANNOTATION_VALUE>three</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
  </TIER>
  <TIER LINGUISTIC_TYPE_REF="gloss" PARENT_REF="utterances" TIER_ID="glosses">
    <ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a5" ANNOTATION_REF="a1">
      <ANNOTATION_VALUE>eins zwei</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>
    <ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a6" ANNOTATION_REF="a1" PREVIOUS_ANNOTATION="a5">
      <ANNOTATION_VALUE>drei</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>
  </TIER>
  <LINGUISTIC_TYPE GRAPHIC_REFERENCES="false" LINGUISTIC_TYPE_ID="utterance" TIME_ALIGNABLE="true"/>
  <LINGUISTIC_TYPE CONSTRAINTS="Time_Subdivision" GRAPHIC_REFERENCES="false" LINGUISTIC_TYPE_ID="word" TIME_ALIGNABLE="true"/>
  <LINGUISTIC_TYPE CONSTRAINTS="Symbolic_Subdivision" GRAPHIC_REFERENCES="false" LINGUISTIC_TYPE_ID="gloss" TIME_ALIGNABLE="false"/>
  <CONSTRAINT DESCRIPTION="Time subdivision of parent annotation's time interval" STEREOTYPE="Time_Subdivision"/>
  <CONSTRAINT DESCRIPTION="Symbolic subdivision of a parent annotation" STEREOTYPE="Symbolic_Subdivision"/>
</ANNOTATION_DOCUMENT>
ELAN
venv/bin/python - <<'PYTHON' | tee seen
import pympi

elan = pympi.Eaf("a.eaf")
for name in elan.get_tier_names():
    print("elan", name, [annotation[:3] for annotation in elan.get_annotation_data_for_tier(name)])
for tier in elan.to_textgrid().tiers:
    print("textgrid", tier.name, [interval for interval in tier.get_all_intervals() if interval[2]])
PYTHON
diff seen - <<'EXPECTED'
elan utterances [(1000, 4000, 'one two three')]
elan words [(1000, None, 'one'), (None, None, 'two'), (None, 4000, 'three')]
elan glosses [(1000, 4000, 'eins zwei'), (1000, 4000, 'drei')]
textgrid utterances [(1.0, 4.0, 'one two three')]
textgrid words []
textgrid glosses [(1.0, 4.0, 'eins zwei')]
EXPECTED
echo "as stated"
