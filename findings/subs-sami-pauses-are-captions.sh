#!/usr/bin/env bash
# The command subs of the Perl library Subtitles reads SAMI. Each pause becomes a caption "&nbsp;", also in files that subs wrote itself. Entities
# stay as they are. Captions in two languages are joined to one word. The last caption is lost if no SYNC follows it. There is no message.
# Seen with libsubtitles-perl 1.04 of Debian 12:
#   3 captions, written as SAMI and read again    5 captions, two of them "&nbsp;"
#   R&amp;D                                       R&amp;D
#   Hello, and in French Bonjour                  HelloBonjour
#   a last caption before </BODY>                 lost
# (FFmpeg 5.1 finds the 3 captions in the file that subs wrote, and the last one in the other.)
# Consequence: word counts and models hold "&nbsp;", and last words are missing. Remove these captions behind subs, and add a SYNC at the end.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before.)
apt-get --quiet=2 download libsubtitles-perl=1.04-3 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
subs() { PERL5LIB=$work/usr/share/perl5 perl "$work/usr/bin/subs" "$@"; }
cat >three.srt <<'SRT'
1
00:00:01,000 --> 00:00:02,500
One

2
00:00:03,000 --> 00:00:04,000
Two
lines

3
00:00:05,500 --> 00:00:06,000
Three
SRT
cat >other.smi <<'SMI'
<SAMI>
<HEAD>
<STYLE TYPE="text/css">
<!--
.ENCC { Name: English; lang: en-US; SAMIType: CC; }
.FRCC { Name: French; lang: fr-FR; SAMIType: CC; }
-->
</STYLE>
</HEAD>
<BODY>
<SYNC Start=1000><P Class=ENCC>R&amp;D in 5 &lt; 6 days
<SYNC Start=2500><P Class=ENCC>&nbsp;
<SYNC Start=3000><P Class=ENCC>Hello<P Class=FRCC>Bonjour
<SYNC Start=4000><P Class=ENCC>The last one
</BODY>
</SAMI>
SMI
{
  echo "# written and read"
  subs -c smi -o three.smi three.srt
  subs -c srt -o again.srt three.smi
  cat again.srt
  echo "# other"
  subs -c srt -o other.srt other.smi
  cat other.srt
} 2>&1 | grep . | tee seen
diff seen - <<'EXPECTED'
# written and read
1
00:00:01,000 --> 00:00:02,500
One
2
00:00:02,500 --> 00:00:03,000
&nbsp;
3
00:00:03,000 --> 00:00:04,000
Two
lines
4
00:00:04,000 --> 00:00:05,500
&nbsp;
5
00:00:05,500 --> 00:00:06,000
Three
# other
1
00:00:01,000 --> 00:00:02,500
R&amp;D in 5 &lt; 6 days
2
00:00:02,500 --> 00:00:03,000
&nbsp;
3
00:00:03,000 --> 00:00:04,000
HelloBonjour
EXPECTED
echo "as stated"
