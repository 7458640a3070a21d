//! Sound in archives of kaldiio and ESPnet: `AUDIO`, a byte with the number of bytes of the size, the size
//! (little-endian), and then a file of sound of any format, which is as long.

use kaldi_io::KaldiReader;

use super::{LOOKED_AT, Result, header, kinds};

const MARK: &[u8] = b"AUDIO";
/// Bytes of the largest size.
const LONGEST: usize = 8;

/// The position behind the sound.
pub(super) struct End(u64);

/// Passes over the mark and the size, if there are such. Fails if the sound is no wave.
pub(super) fn enter(r: &mut KaldiReader) -> Result<Option<End>> {
    if !r.peek_bytes(MARK.len())?.starts_with(MARK) {
        return Ok(None);
    }
    r.set_binary(true);
    let mut head = [0; MARK.len() + 1];
    r.read_exact(&mut head)?;
    let length = usize::from(head[MARK.len()]);
    if !(1..=LONGEST).contains(&length) {
        return Err(r.error(format!(
            "expected 1 to {LONGEST} bytes of a size after AUDIO (kaldiio), found {length}"
        )));
    }
    let mut bytes = [0; LONGEST];
    r.read_exact(&mut bytes[..length])?;
    let size = u64::from_le_bytes(bytes);
    let begin = r.peek_bytes(LOOKED_AT)?;
    if !header::is_readable(begin) {
        let kind = kinds::name(begin).map_or_else(|| "sound that is no wave".to_owned(), str::to_owned);
        return Err(r.error(format!(
            "this archive of kaldiio has {kind} in an entry AUDIO; expected a wave: write the archive anew with \
             kaldiio.save_ark(…, audio_format=\"wav\"), or list files in a wav.scp"
        )));
    }
    let end = r.position().checked_add(size);
    end.map(End).map(Some).ok_or_else(|| r.error(format!("a size of {size} bytes after AUDIO")))
}

/// Passes over the bytes of the sound that are left, such as chunks behind the samples.
pub(super) fn leave(r: &mut KaldiReader, end: Option<End>) -> Result<()> {
    let Some(End(end)) = end else { return Ok(()) };
    match end.checked_sub(r.position()) {
        Some(left) if r.skip_bytes(left)? == left => Ok(()),
        Some(_) => Err(r.error("the archive ends within the sound of an entry AUDIO (kaldiio)")),
        None => Err(r.error("the wave of an entry AUDIO (kaldiio) is longer than the size before it")),
    }
}
