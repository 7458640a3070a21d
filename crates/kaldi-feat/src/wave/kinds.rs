//! Names files of sound that are no wave files, by their first bytes.

use kaldi_io::KaldiReader;

/// Bytes at the beginning of a file that tell its kind.
pub const LOOKED_AT: usize = 256;

/// First bytes of files, and their kinds.
const MARKS: [(&[u8], &str); 37] = [
    (b"fLaC", "a FLAC file"),
    (b"NIST_1A", "a NIST SPHERE file"),
    (b"ID3", "an MP3 file"),
    (b".snd", "an AU file"),
    (b"#!AMR", "an AMR file"),
    (b"riff\x2e\x91\xcf\x11", "a Sony Wave64 (W64) file"),
    (b"caff", "a Core Audio (CAF) file"),
    (b"ADIF", "an AAC file (ADIF)"),
    (b"wvpk", "a WavPack file"),
    (b"MAC ", "a Monkey's Audio file"),
    (b"TTA1", "a True Audio file"),
    (b"ajkg", "a Shorten file"),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "a Windows Media (WMA, ASF) file"),
    (b"\xb7\xd8\x00\x20\x37\x49\xda\x11\xa6\x4e", "a Windows TV (WTV) file"),
    (b"Creative Voice File", "a VOC file"),
    (b"#!SILK", "a SILK file"),
    (b"\x02#!SILK", "a SILK file"),
    (b"FLV\x01", "a Flash video file"),
    (b".RMF", "a RealMedia file"),
    (b".ra\xfd", "a RealAudio file"),
    (b"\x0b\x77", "an AC-3 file"),
    (b"\x00\x00\x01\xba", "an MPEG file"),
    (b"\x7f\xfe\x80\x01", "a DTS file"),
    (b"\xfe\x7f\x01\x80", "a DTS file"),
    (b"\x1f\xff\xe8\x00", "a DTS file"),
    (b"\xff\x1f\x00\xe8", "a DTS file"),
    (b".SoX", "a file of SoX"),
    (b"XoS.", "a file of SoX"),
    (b"DSD ", "a DSD file"),
    (b"STRM", "an AST file"),
    (b"MMMD", "an MMF (SMAF) file"),
    (b"MThd", "a MIDI file (notes, not sound)"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"BZh", "a file compressed by bzip2"),
    (b"\xfd7zXZ\x00", "a file compressed by xz"),
    (b"%PDF", "a PDF file"),
    (b"version https://git-lfs", "the placeholder of a file in Git LFS"),
];

/// Kinds that ffmpeg does not take for sound.
const NO_SOUND: [&str; 6] = ["MIDI", "ZIP", "bzip2", "xz", "PDF", "Git LFS"];

/// The kind of a file, with its article. `None` if it is not known.
pub fn name(begin: &[u8]) -> Option<&'static str> {
    let has = |mark: &[u8]| begin.windows(mark.len()).any(|window| window == mark);
    if let Some((_, name)) = MARKS.iter().find(|(mark, _)| begin.starts_with(mark)) {
        return Some(name);
    }
    Some(match begin {
        [b'O', b'g', b'g', b'S', ..] if has(b"OpusHead") => "an Ogg file (Opus)",
        [b'O', b'g', b'g', b'S', ..] if has(b"\x01vorbis") => "an Ogg file (Vorbis)",
        [b'O', b'g', b'g', b'S', ..] if has(b"Speex") => "an Ogg file (Speex)",
        [b'O', b'g', b'g', b'S', ..] => "an Ogg file",
        [b'F', b'O', b'R', b'M', ..] => "an AIFF file",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'A', b'V', b'I', b' ', ..] => "an AVI file",
        [0x1a, 0x45, 0xdf, 0xa3, ..] if has(b"webm") => "a WebM file",
        [0x1a, 0x45, 0xdf, 0xa3, ..] => "a Matroska file",
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => match brand.get(..3)? {
            b"M4A" | b"M4B" => "an M4A file",
            b"qt " => "a QuickTime file",
            b"3gp" | b"3g2" => "a 3GP file",
            _ => "an MP4 file",
        },
        // The synchronisation bits of MPEG. Layer 0 is AAC in ADTS.
        [0xff, second, third, ..] if second & 0xf6 == 0xf0 && third & 0x3c != 0x3c => "an AAC file (ADTS)",
        [0xff, second, third, ..] if second & 0xe0 == 0xe0 && is_mpeg_audio(*second, *third) => {
            if second & 0x06 == 0x02 { "an MP3 file" } else { "an MPEG audio file" }
        }
        [_, _, _, _, 0xf8, 0x72, 0x6f, 0xba, ..] => "a TrueHD file",
        [_, _, _, _, 0xf8, 0x72, 0x6f, 0xbb, ..] => "an MLP file",
        [0x64, 0xa3, 1..=4, 0, ..] | [0, 1..=4, 0xa3, 0x64, ..] => "an IRCAM file",
        [0x47, rest @ ..] if rest.get(187) == Some(&0x47) => "an MPEG transport stream",
        _ => return None,
    })
}

/// True if the header of a frame does not use a reserved value for version, layer, bit rate or sampling rate.
pub(super) fn is_mpeg_audio(second: u8, third: u8) -> bool {
    second & 0x18 != 0x08 && second & 0x06 != 0 && third & 0xf0 != 0xf0 && third & 0x0c != 0x0c
}

/// True for a kind by [`name`] that has no sound.
pub fn is_no_sound(kind: &str) -> bool {
    NO_SOUND.iter().any(|none| kind.contains(none))
}

/// True if a recording of a known format begins like this.
pub fn is_sound(begin: &[u8]) -> bool {
    let is_wave = matches!(begin.get(..4), Some(b"RIFF" | b"RIFX" | b"RF64" | b"BW64"))
        && begin.get(8..12) == Some(b"WAVE");
    is_wave || name(begin).is_some_and(|kind| !is_no_sound(kind))
}

/// The advice to convert an input of the kind `found` by ffmpeg, to be put behind a message; empty if that is no way.
pub(super) fn advice(r: &KaldiReader, found: &str) -> String {
    if !r.is_whole() || is_no_sound(found) {
        return String::new();
    }
    const WAVE: &str = "-f wav - |";
    match r.command() {
        Some(command) => {
            format!("; '{} | ffmpeg -nostdin -v error -i - {WAVE}' would do", command.trim_end())
        }
        None if r.is_file() => {
            format!("; give 'ffmpeg -nostdin -v error -i {} {WAVE}' in place of the file", r.name())
        }
        None => "; 'ffmpeg -v error -i - -f wav - |' converts it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        for (begin, expected) in [
            (&b"fLaC\0"[..], "a FLAC file"),
            (b"OggS\0\x02............OpusHead", "an Ogg file (Opus)"),
            (b"OggS\0", "an Ogg file"),
            (b"ID3\x04", "an MP3 file"),
            (b"\xff\xfb\x90\x64", "an MP3 file"),
            (b"\xff\xf3\x40\xc0", "an MP3 file"),
            (b"\xff\xfd\x90\x64", "an MPEG audio file"),
            (b"\xff\xf1\x50\x80", "an AAC file (ADTS)"),
            (b"\xff\xf9\x50\x80", "an AAC file (ADTS)"),
            (b"\0\0\0\x20ftypM4A \0", "an M4A file"),
            (b"\0\0\0\x20ftypisom", "an MP4 file"),
            (b"\0\0\0\x14ftyp3gp4", "a 3GP file"),
            (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm", "a WebM file"),
            (b"\x1a\x45\xdf\xa3\xa3\x42\x82\x88matroska", "a Matroska file"),
            (b"riff\x2e\x91\xcf\x11\xa5", "a Sony Wave64 (W64) file"),
            (b"caff\0\x01", "a Core Audio (CAF) file"),
            (b"#!AMR\n", "an AMR file"),
            (b"FORM\0\0\0\0AIFF", "an AIFF file"),
            (b"NIST_1A\n   1024\n", "a NIST SPHERE file"),
            (b"RIFF\0\0\0\0AVI LIST", "an AVI file"),
            (b"\x7f\xfe\x80\x01\xfc", "a DTS file"),
            (b"\xa0\x23\xff\xd8\xf8\x72\x6f\xba\0", "a TrueHD file"),
            (b"\x80\x1f\xff\xd8\xf8\x72\x6f\xbb\0", "an MLP file"),
            (b"\x64\xa3\x01\0\0\0\x7a\x46", "an IRCAM file"),
            (b"\0\x01\xa3\x64\x46\x7a\0\0", "an IRCAM file"),
            (b"MMMD\0\0\x01\0CNTI", "an MMF (SMAF) file"),
        ] {
            assert_eq!(name(begin), Some(expected), "{}", begin.escape_ascii());
        }
        for unknown in [&b""[..], b"R", b"\xff\xff\xff\xff", b"a b c\n", b"\0\0\0\0\0\0\0\0\0"] {
            assert_eq!(name(unknown), None, "{}", unknown.escape_ascii());
        }
    }
}
