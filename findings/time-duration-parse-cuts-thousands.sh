#!/usr/bin/env bash
# The Perl module Time::Duration::Parse makes seconds of a duration in English words. It takes each comma in a number for a decimal point: "1,000
# seconds" is 1, and "2,500 minutes" are 150 seconds. It rounds the sum to whole seconds, so that "0.4 seconds" is 0. Its documentation tells of neither.
# There is no message.
# Seen with libtime-duration-parse-perl 0.16 of Debian 12 on Perl 5.36:
#   2 minutes and 3 seconds    123
#   1000 seconds               1000
#   1,000 seconds              1
#   2,500 minutes              150
#   1,200 hours                4320
#   0.4 seconds                0
#   3.5 seconds                4
#   0:00:01.25                 1
# Consequence: pieces of sound are a thousandth as long, or begin up to half a second elsewhere. Drop commas before, and give milliseconds as numbers.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other modules are those of the Debian package libtime-duration-parse-perl.)
apt-get --quiet=2 download libtime-duration-parse-perl=0.16-1 2>/dev/null
dpkg --extract libtime-duration-parse-perl_*.deb "$work"
cat >show.pl <<'PERL'
use strict;
use warnings;
use Time::Duration::Parse;

while (my $text = <DATA>) {
    chomp $text;
    print "$text: ", parse_duration($text), "\n";
}
__DATA__
2 minutes and 3 seconds
1 hour, 30 minutes
1000 seconds
1,000 seconds
10,500 seconds
2,500 minutes
1,200 hours
1.5 minutes
0.4 seconds
3.5 seconds
0:00:01.25
PERL
PERL5LIB=$work/usr/share/perl5 perl show.pl 2>&1 | tee seen
diff seen - <<'EXPECTED'
2 minutes and 3 seconds: 123
1 hour, 30 minutes: 5400
1000 seconds: 1000
1,000 seconds: 1
10,500 seconds: 10
2,500 minutes: 150
1,200 hours: 4320
1.5 minutes: 90
0.4 seconds: 0
3.5 seconds: 4
0:00:01.25: 1
EXPECTED
echo "as stated"
