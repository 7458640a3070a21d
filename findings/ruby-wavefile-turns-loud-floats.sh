#!/usr/bin/env bash
# The Ruby library wavefile turns floats above 1 over when it writes or converts them to integers. 1.01 becomes -0.99, and -1.01 becomes 0.99, at all
# widths. A reader that is asked for another sample rate returns the samples of the file's own: a second at 16 kHz lasts two at 8 kHz. The README and
# the comments of the code tell of neither. There is no message.
# Seen with ruby-wavefile 0.6.0 of Debian 12 on Ruby 3.1, floats written and read:
#   written   0.5   1.0     1.01    1.5     -1.01  -1.5
#   8 bits    0.50  0.9922  -1.0    -0.5078 -1.0   0.5078
#   16 bits   0.50  1.0     -0.99   -0.5    0.99   0.5
#   24 bits   0.50  1.0     -0.99   -0.5    0.99   0.5
#   one second at 16 kHz, read as 8 kHz, written   2 s
# Consequence: a sum of sounds that is a little too loud cracks at each peak. Clip to -1 and 1 yourself, and resample with another program.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; Ruby is that of the Debian package ruby.)
apt-get --quiet=2 download ruby-wavefile=0.6.0-2.1 2>/dev/null
dpkg --extract ruby-wavefile_*.deb "$work"
cat >show.rb <<'RUBY'
require "wavefile"
include WaveFile

FLOATS = [0.5, 1.0, 1.01, 1.5, -0.5, -1.0, -1.01, -1.5].freeze

def samples(name, format)
  all = []
  Reader.new(name, format) { |reader| reader.each_buffer(4096) { |buffer| all += buffer.samples } }
  all
end

float = Format.new(:mono, :float, 16_000)
%i[pcm_8 pcm_16 pcm_24 pcm_32 float_32].each do |kind|
  Writer.new("a.wav", Format.new(:mono, kind, 16_000)) { |writer| writer.write(Buffer.new(FLOATS.dup, float)) }
  puts "#{kind}: #{samples('a.wav', float).map { |sample| sample.round(4) }.join(' ')}"
end

tone = Array.new(16_000) { |i| (16_000 * Math.sin(2 * Math::PI * 440 * i / 16_000)).round }
Writer.new("b.wav", Format.new(:mono, :pcm_16, 16_000)) do |writer|
  writer.write(Buffer.new(tone, Format.new(:mono, :pcm_16, 16_000)))
end
slow = Format.new(:mono, :pcm_16, 8_000)
read = samples("b.wav", slow)
Writer.new("c.wav", slow) { |writer| writer.write(Buffer.new(read, slow)) }
Reader.new("c.wav") { |reader| puts "16000 samples at 16000 Hz: #{read.size} at #{slow.sample_rate} Hz, #{reader.total_duration.seconds} s" }
RUBY
ruby -I usr/lib/ruby/vendor_ruby show.rb | tee seen
diff seen - <<'EXPECTED'
pcm_8: 0.5 0.9922 -1.0 -0.5078 -0.5 -0.9922 -1.0 0.5078
pcm_16: 0.5 1.0 -0.99 -0.5 -0.5 -1.0 0.99 0.5
pcm_24: 0.5 1.0 -0.99 -0.5 -0.5 -1.0 0.99 0.5
pcm_32: 0.5 1.0 -0.99 -0.5 -0.5 -1.0 0.99 0.5
float_32: 0.5 1.0 1.01 1.5 -0.5 -1.0 -1.01 -1.5
16000 samples at 16000 Hz: 16000 at 8000 Hz, 2 s
EXPECTED
echo "as stated"
