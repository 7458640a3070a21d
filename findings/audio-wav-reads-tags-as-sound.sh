#!/usr/bin/env bash
# The Perl module Audio::Wav returns samples by read(). It does not stop at the end of the sound: tags and cues behind it are returned as samples, up
# to the end of the file. Its manual has a loop "last unless @channels" that splits a file into channels, so each of them ends with a crack. The
# module writes tags and cues behind the sound itself. read_raw and length_samples keep to the end. There is no message.
# Seen with libaudio-wav-perl 0.14 of Debian 12, 8,000 samples of 100 and a title, or a cue:
#   a wave with the title in front of the sound         8,000 samples, highest 100
#   a wave with the title behind the sound              8,017 samples, highest 30,322
#   a wave that Audio::Wav wrote with title and cue     8,051 samples, highest 30,579
# Consequence: recordings that were tagged end with a crack and last longer. Read length_samples samples and no more.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before.)
apt-get --quiet=2 download libaudio-wav-perl=0.14-5 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
cat >show.pl <<'PERL'
use strict;
use warnings;
use Audio::Wav;

my $wav = Audio::Wav->new;

# Writes 8,000 samples of 100 as chunks of RIFF, with a title before or behind them.
sub by_hand {
    my ($name, $channels, $tags_first) = @_;
    my $format = pack "A4 V v v V V v v", "fmt ", 16, 1, $channels, 8000, 16000 * $channels, 2 * $channels, 16;
    my $tags = pack "A4 V A4 A4 V a14", "LIST", 26, "INFO", "INAM", 14, "Interview one";
    my $data = pack "A4 V v*", "data", 16000 * $channels, (100) x (8000 * $channels);
    my $body = "WAVE" . $format . ($tags_first ? $tags . $data : $data . $tags);
    open my $file, ">:raw", $name or die;
    print $file pack("A4 V", "RIFF", length $body), $body;
    close $file or die;
}

sub by_module {
    my ($name, $tags, $cue) = @_;
    my $file = $wav->write($name, { channels => 1, sample_rate => 8000, bits_sample => 16 });
    $file->write(100) for 1 .. 8000;
    $file->set_info(name => "Interview one") if $tags;
    $file->add_cue(4000, "answer") if $cue;
    $file->finish;
}

by_hand("title in front.wav", 1, 1);
by_hand("title behind.wav", 1, 0);
by_hand("title behind, stereo.wav", 2, 0);
by_module("written without title.wav", 0, 0);
by_module("written with title.wav", 1, 0);
by_module("written with title and cue.wav", 1, 1);
for my $name ("title in front", "title behind", "title behind, stereo", "written without title", "written with title",
    "written with title and cue") {
    my $file = $wav->read("$name.wav");
    my ($count, $highest) = (0, 0);
    while (1) {
        my @channels = $file->read;
        last unless @channels;
        $count++;
        for my $sample (grep defined, @channels) { $highest = abs $sample if abs $sample > $highest }
    }
    $file->move_to(0);
    my $bytes = length $file->read_raw(1_000_000);
    print "$name: length ", $file->length_samples, ", read_raw $bytes bytes, read $count samples, highest $highest\n";
}
PERL
PERL5LIB=$work/usr/share/perl5 perl show.pl 2>&1 | tee seen
diff seen - <<'EXPECTED'
title in front: length 8000, read_raw 16000 bytes, read 8000 samples, highest 100
title behind: length 8000, read_raw 16000 bytes, read 8017 samples, highest 30322
title behind, stereo: length 8000, read_raw 32000 bytes, read 8009 samples, highest 30322
written without title: length 8000, read_raw 16000 bytes, read 8000 samples, highest 100
written with title: length 8000, read_raw 16000 bytes, read 8017 samples, highest 30322
written with title and cue: length 8000, read_raw 16000 bytes, read 8051 samples, highest 30579
EXPECTED
echo "as stated"
