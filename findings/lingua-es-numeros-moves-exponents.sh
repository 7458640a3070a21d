#!/usr/bin/env bash
# The Perl module Lingua::ES::Numeros says amounts in Spanish words. It reads exponents, and then forgets them in its method real. Perl itself writes
# numbers below 0.0001 and many from 1e15 on with exponents. Amounts between -1 and 0 lose the minus. 500 is masculine in feminine words, where 200
# to 900 are feminine. There is no message.
# Seen with liblingua-es-numeros-perl 0.09 of Debian 12:
#   real(0.00001)       cero con 10 ctms. (right: con 00 ctms.)
#   real("1.5e3")       quince con 00 ctms., 15 (right: un mil quinientos; cardinal says so)
#   real(1.5 * 10**15)  quince con 00 ctms.
#   real(-0.5)          cero con 50 ctms. (right: menos cero con 50 ctms.)
#   cardinal(500)       quinientos, feminine (right: quinientas)
# Consequence: amounts on receipts and in spoken text are others. Format numbers with sprintf "%.2f" first, and say the minus yourself.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before.)
apt-get --quiet=2 download liblingua-es-numeros-perl=0.09-3 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
cat >show.pl <<'PERL'
use strict;
use warnings;
use Lingua::ES::Numeros;
binmode STDOUT, ":encoding(UTF-8)";

my $words = Lingua::ES::Numeros->new;
for my $number (1.5, 1234.05, 0.00001, "1e3", "1.5e3", 1.5 * 10**15, -1.5, -0.5, -0.05) {
    print "$number: ", $words->real($number), ", cardinal ", $words->cardinal($number), "\n";
}
my $feminine = Lingua::ES::Numeros->new(GENERO => "a");
print "feminine $_: ", $feminine->cardinal($_), "\n" for (1, 200, 400, 500, 700, 200000, 500000);
PERL
PERL5LIB=$work/usr/share/perl5 perl -W show.pl 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
1.5: uno con 50 ctms., cardinal uno
1234.05: un mil doscientos treinta y cuatro con 05 ctms., cardinal un mil doscientos treinta y cuatro
1e-05: cero con 10 ctms., cardinal cero
1e3: uno con 00 ctms., cardinal un mil
1.5e3: quince con 00 ctms., cardinal un mil quinientos
1.5e+15: quince con 00 ctms., cardinal un mil quinientos billones
-1.5: menos uno con 50 ctms., cardinal menos uno
-0.5: cero con 50 ctms., cardinal cero
-0.05: cero con 05 ctms., cardinal cero
feminine 1: una
feminine 200: doscientas
feminine 400: cuatrocientas
feminine 500: quinientos
feminine 700: setecientas
feminine 200000: doscientas mil
feminine 500000: quinientos mil
EXPECTED
echo "as stated"
