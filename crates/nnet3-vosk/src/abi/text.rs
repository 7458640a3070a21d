//! The functions of text processors.

use std::ffi::c_char;
use std::ptr::null_mut;

use super::{guarded, handle, logged, read, release, with};
use crate::itn::TextProcessor;
use crate::session::c_text;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_text_processor_new(
    tagger: *const c_char,
    verbalizer: *const c_char,
) -> *mut TextProcessor {
    let name = "vosk_text_processor_new";
    guarded(name, null_mut(), || {
        // SAFETY: rule 3.
        let files = unsafe { read(name, tagger).zip(read(name, verbalizer)) };
        handle(files.and_then(|(tagger, verbalizer)| logged(name, TextProcessor::open(tagger, verbalizer))))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_text_processor_free(processor: *mut TextProcessor) {
    // SAFETY: rules 1 and 2.
    unsafe { release("vosk_text_processor_free", processor) };
}

/// Returns a text that the caller frees with C's `free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_text_processor_itn(
    processor: *mut TextProcessor,
    input: *const c_char,
) -> *mut c_char {
    let name = "vosk_text_processor_itn";
    // SAFETY: rules 1 to 3. `strdup` copies a text that ends with a zero.
    unsafe {
        with(name, processor, null_mut(), |processor| {
            let text = logged(name, processor.convert(read(name, input)?))?;
            Some(libc::strdup(c_text(text).as_ptr()))
        })
    }
}
