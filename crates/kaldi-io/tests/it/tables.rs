//! Reading and writing tables.

use crate::common::{Folder, hex, message};
use kaldi_io::holder::{
    GeneralMatrixHolder, Holder, I32Holder, I32VectorHolder, MatrixHolder, PosteriorHolder, TokenHolder,
    TokenVectorHolder, VectorHolder,
};
use kaldi_io::{DenseMatrix, MappedRandomReader, RandomReader, Result, SequentialReader, TableWriter};

type Entries<T> = Vec<(String, T)>;

fn read<H: Holder>(rspecifier: &str) -> Result<Entries<H::T>> {
    let mut reader = SequentialReader::<H>::open(rspecifier)?;
    let mut entries = Vec::new();
    while let Some(entry) = reader.next()? {
        entries.push(entry);
    }
    assert!(reader.next()?.is_none(), "the end stays the end");
    reader.close()?;
    Ok(entries)
}

fn keys<T>(entries: &Entries<T>) -> Vec<&str> {
    entries.iter().map(|(key, _)| key.as_str()).collect()
}

fn u1() -> DenseMatrix<f32> {
    DenseMatrix::from_rows(&[[1.0, 2.0], [3.0, 4.0]])
}

fn u2() -> DenseMatrix<f32> {
    DenseMatrix::from_rows(&[[5.0, 6.0]])
}

fn write_both(folder: &Folder, options: &str) -> String {
    let (ark, scp) = (folder.path("o.ark"), folder.path("o.scp"));
    let mut writer = TableWriter::<MatrixHolder>::open(&format!("ark,scp{options}:{ark},{scp}")).unwrap();
    writer.write("u1", &u1()).unwrap();
    writer.write("u2", &u2()).unwrap();
    writer.close().unwrap();
    scp
}

#[test]
fn archive_and_script() {
    let folder = Folder::new();
    let scp = write_both(&folder, "");
    let expected = hex(
        "75 31 20 00 42 46 4D 20 04 02 00 00 00 04 02 00 00 00 00 00 80 3F 00 00 00 40 00 00 40 40 00 00 80 40 75 32 \
         20 00 42 46 4D 20 04 01 00 00 00 04 02 00 00 00 00 00 A0 40 00 00 C0 40",
    );
    assert_eq!(folder.read("o.ark"), expected);
    assert_eq!(expected.len(), 60);
    let ark = folder.path("o.ark");
    assert_eq!(String::from_utf8(folder.read("o.scp")).unwrap(), format!("u1 {ark}:3\nu2 {ark}:37\n"));

    let both = vec![("u1".to_owned(), u1()), ("u2".to_owned(), u2())];
    for spec in [format!("scp:{scp}"), format!("scp,bg:{scp}"), format!("ark:{ark}"), format!("ark,bg:{ark}")]
    {
        assert_eq!(read::<MatrixHolder>(&spec).unwrap(), both, "{spec}");
    }
    assert_eq!(read::<MatrixHolder>(&format!("ark:cat {ark} |")).unwrap(), both);

    write_both(&folder, ",t");
    assert_eq!(folder.read("o.ark"), b"u1  [\n  1 2 \n  3 4 ]\nu2  [\n  5 6 ]\n");
    assert_eq!(read::<MatrixHolder>(&format!("scp:{scp}")).unwrap(), both);
    assert_eq!(read::<MatrixHolder>(&format!("ark:{ark}")).unwrap(), both);
}

#[test]
fn entries_may_be_text_or_binary_one_by_one() {
    let folder = Folder::new();
    let bytes = [
        &b"a  [\n  1 ]\n\nb "[..],
        &hex("00 42 'FM ' 04 01 00 00 00 04 01 00 00 00 00 00 00 40"),
        b"c\t[ 3 ]\n",
    ]
    .concat();
    let ark = folder.write("x.ark", bytes);
    let entries = read::<GeneralMatrixHolder>(&format!("ark:{ark}")).unwrap();
    let values: Vec<f32> = entries.iter().map(|(_, m)| m.to_dense().data[0]).collect();
    assert_eq!((keys(&entries), values), (vec!["a", "b", "c"], vec![1.0, 2.0, 3.0]));
    assert!(read::<MatrixHolder>(&format!("ark:{}", folder.write("empty", ""))).unwrap().is_empty());
    assert!(read::<MatrixHolder>(&format!("scp:{}", folder.path("empty"))).unwrap().is_empty());
    let lists =
        read::<TokenVectorHolder>(&format!("ark:{}", folder.write("t", "s1 a b\ns2\ns3 c\n"))).unwrap();
    assert_eq!(lists[1], ("s2".to_owned(), vec![]));
}

#[test]
fn script_lines() {
    let folder = Folder::new();
    write_both(&folder, "");
    let ark = folder.path("o.ark");
    let scp = format!(
        "a {ark}:3[0:0]\nb   {ark}:3[:,1:1]  \nc {ark}:37\nd {ark}:3\nb tail -c +4 {ark} |\ne {ark}:3[1:4]\n"
    );
    let entries = read::<MatrixHolder>(&format!("scp:{}", folder.write("x.scp", scp))).unwrap();
    assert_eq!(keys(&entries), ["a", "b", "c", "d", "b", "e"]);
    assert_eq!(entries[0].1.data, [1.0, 2.0]);
    assert_eq!((entries[1].1.cols, &entries[1].1.data[..]), (1, &[2.0, 4.0][..]));
    assert_eq!((&entries[2].1, &entries[3].1, &entries[4].1), (&u2(), &u1(), &u1()));
    assert_eq!(entries[5].1.data, [3.0, 4.0], "rows past the end are cut off");
    // A range outside the matrix is a mistake even in permissive mode.
    let bad = folder.write("bad.scp", format!("a {ark}:3[7:8]\n"));
    assert!(read::<MatrixHolder>(&format!("scp,p:{bad}")).is_err());
    let binary = message(read::<MatrixHolder>(&format!("scp:{}", folder.write("b", hex("00 42")))));
    assert!(binary.contains("not a script"), "{binary}");
}

#[test]
fn malformed_script_lines_are_errors() {
    let folder = Folder::new();
    write_both(&folder, "");
    let ark = folder.path("o.ark");
    for bad in ["", "key", "key a[0:1"] {
        let scp = folder.write("x.scp", format!("a {ark}:3\n{bad}\nb {ark}:37\n"));
        let mut reader = SequentialReader::<MatrixHolder>::open(&format!("scp:{scp}")).unwrap();
        assert!(reader.next().unwrap().is_some());
        assert!(reader.next().is_err(), "{bad:?}");
        assert!(reader.next().unwrap().is_none());
        assert_eq!(read::<MatrixHolder>(&format!("scp,p:{scp}")).unwrap().len(), 2, "{bad:?}");
    }
}

#[test]
fn what_cannot_be_read() {
    let folder = Folder::new();
    let missing = folder.path("missing");
    let error = message(read::<MatrixHolder>(&format!("ark:{missing}")));
    assert!(
        error.contains("cannot open") && error.contains(&missing) && error.contains("No such file"),
        "{error}"
    );
    for bad in ["", "x", "ark,x:-", "ark"] {
        assert!(SequentialReader::<I32Holder>::open(bad).is_err(), "{bad}");
    }
    // The first entry of an archive, even in permissive mode.
    let ark = folder.write("first.ark", "a x\n");
    assert!(SequentialReader::<I32Holder>::open(&format!("ark,p:{ark}")).is_err());
    // A later one.
    for (content, why) in
        [("a 1\nb x\nc 3\n", "b"), ("a 1\nb 2", "b"), ("a 1\nb", "b"), ("a 1\nb\u{b}2\n", "b")]
    {
        let ark = folder.write("later.ark", content);
        for options in ["ark", "ark,bg"] {
            let mut reader = SequentialReader::<I32Holder>::open(&format!("{options}:{ark}")).unwrap();
            assert_eq!(reader.next().unwrap(), Some(("a".to_owned(), 1)));
            let error = message(reader.next());
            assert!(error.contains("later.ark") && error.contains(why), "{error}");
            assert!(reader.next().unwrap().is_none());
        }
        assert_eq!(read::<I32Holder>(&format!("ark,p:{ark}")).unwrap().len(), 1);
        assert_eq!(read::<I32Holder>(&format!("ark,p,bg:{ark}")).unwrap().len(), 1);
    }
    // A script's entry.
    let one = folder.write("one", "1 \n");
    let scp = folder.write("x.scp", format!("a {one}\nb {missing}\nc {one}\nd |x\n"));
    let error = message(read::<I32Holder>(&format!("scp:{scp}")));
    assert!(error.contains("key 'b'") && error.contains(&missing), "{error}");
    assert_eq!(keys(&read::<I32Holder>(&format!("scp,p:{scp}")).unwrap()), ["a", "c"]);
}

#[test]
fn failing_commands() {
    let command = "printf 'a 1\\nb 2\\n'; exit 3 |";
    for options in ["ark", "ark,bg"] {
        let mut reader = SequentialReader::<I32Holder>::open(&format!("{options}:{command}")).unwrap();
        assert!(reader.next().unwrap().is_some());
        assert!(reader.next().unwrap().is_some());
        assert!(reader.next().unwrap().is_none(), "data is consumed normally");
        let error = message(reader.close());
        assert!(error.contains("exit 3") && error.contains("exit status: 3"), "{options}: {error}");
    }
    let folder = Folder::new();
    let one = folder.write("one", "1 \n");
    assert!(message(read::<I32Holder>(&format!("scp:echo a {one}; exit 3 |"))).contains("exit status: 3"));
    assert_eq!(read::<I32Holder>(&format!("ark,p:{command}")).unwrap().len(), 2);
    // The output was not read to the end, so the command's status is ignored.
    let reader = SequentialReader::<I32Holder>::open("ark:yes a 1 |").unwrap();
    reader.close().unwrap();
    let mut reader = RandomReader::<I32Holder>::open(&format!("ark:{command}")).unwrap();
    assert_eq!(reader.get("b").unwrap().copied(), Some(2));
    assert!(reader.has("c").is_err(), "a key may be missing because the command failed");
}

#[test]
fn reading_ahead_does_not_lose_or_reorder() {
    let folder = Folder::new();
    let content: String = (0..1000).map(|i| format!("k{i} {i}\n")).collect();
    let ark = folder.write("x.ark", content);
    let entries = read::<I32Holder>(&format!("ark,bg:{ark}")).unwrap();
    assert!(
        entries.iter().enumerate().all(|(i, (key, value))| key == &format!("k{i}") && *value == i as i32)
    );
    assert_eq!(entries.len(), 1000);
    // Closing before the end must not wait for ever.
    let mut reader = SequentialReader::<I32Holder>::open(&format!("ark,bg:{ark}")).unwrap();
    reader.next().unwrap();
    reader.close().unwrap();
}

#[test]
fn concatenated_archives() {
    let folder = Folder::new();
    write_both(&folder, "");
    let once = folder.read("o.ark");
    let ark = folder.write("two.ark", [&once[..], &once].concat());
    assert_eq!(keys(&read::<MatrixHolder>(&format!("ark:{ark}")).unwrap()), ["u1", "u2", "u1", "u2"]);
}

fn random(spec: &str, folder: &Folder, content: &str) -> RandomReader<I32Holder> {
    RandomReader::open(&format!("{spec}:{}", folder.write("r.ark", content))).unwrap()
}

#[test]
fn random_access_to_unsorted_archives() {
    let folder = Folder::new();
    let mut r = random("ark", &folder, "b 2\na 1\nc 3\n");
    assert_eq!((r.get("a").unwrap().copied(), r.has("x").unwrap()), (Some(1), false));
    assert_eq!((r.get("b").unwrap().copied(), r.get("x").unwrap().copied()), (Some(2), None));
    assert_eq!(r.get("c").unwrap().copied(), Some(3));
    assert!(r.has("two words").is_err() && r.has("").is_err());
    r.close().unwrap();
    let mut r = random("ark", &folder, "a 1\na 2\n");
    assert!(message(r.has("x")).contains("twice"));

    let mut r = random("ark,o", &folder, "b 2\na 1\n");
    assert_eq!(
        (r.has("a").unwrap(), r.get("a").unwrap().copied(), r.get("a").unwrap().copied()),
        (true, Some(1), Some(1))
    );
    assert_eq!(r.get("b").unwrap().copied(), Some(2));
    assert!(message(r.get("a")).contains("once"));
    let mut r = random("ark", &folder, "a 1\nb x\n");
    assert!(r.has("b").is_err());
    let mut r = random("ark,p", &folder, "a 1\nb x\n");
    assert_eq!((r.has("b").unwrap(), r.get("a").unwrap().copied()), (false, Some(1)));
}

#[test]
fn random_access_to_sorted_archives() {
    let folder = Folder::new();
    let mut r = random("ark,s", &folder, "a 1\nc 3\nd 4\n");
    assert!(!r.has("b").unwrap());
    assert_eq!(
        (r.get("a").unwrap().copied(), r.get("d").unwrap().copied(), r.get("a").unwrap().copied()),
        (Some(1), Some(4), Some(1))
    );
    let mut r = random("ark,s", &folder, "a 1\nc 3\nb 2\n");
    assert!(message(r.has("z")).contains("'s'"));
    let mut r = random("ark,s,o", &folder, "a 1\nb 2\n");
    assert_eq!((r.get("a").unwrap().copied(), r.get("b").unwrap().copied()), (Some(1), Some(2)));
    assert!(r.get("a").is_err());

    let mut r = random("ark,s,cs", &folder, "a 1\nc 3\nd 4\n");
    assert!(r.has("a").unwrap() && !r.has("b").unwrap());
    assert_eq!(
        (r.get("c").unwrap().copied(), r.get("c").unwrap().copied(), r.get("e").unwrap().copied()),
        (Some(3), Some(3), None)
    );
    assert!(message(r.has("d")).contains("cs"));
    let mut r = random("ark,cs,s", &folder, "a 1\na 2\n");
    assert!(r.has("b").is_err());
}

/// A table that is not sorted in spite of `s` does not just lack keys.
#[test]
fn a_wrong_promise_of_order_is_told() {
    let folder = Folder::new();
    for spec in ["ark,s", "ark,s,cs"] {
        let mut r = random(spec, &folder, "b 2\na 1\n");
        assert!(!r.has("a").unwrap());
        let error = message(r.close());
        assert!(error.contains("key 'a' comes after 'b', but the option 's' promises"), "{error}");
        // Sorted tables may lack keys, and end where they like.
        let mut r = random(spec, &folder, "b 2\nc 3\nd 4\n");
        assert!(!r.has("a").unwrap() && r.has("b").unwrap());
        r.close().unwrap();
        let mut r = random(spec, &folder, "b 2\n");
        assert!(!r.has("a").unwrap());
        r.close().unwrap();
    }
    let speakers = format!("ark:{}", folder.write("spk", "s1 1\n"));
    let map = format!("ark,s,cs:{}", folder.write("utt2spk", "u2 s1\nu1 s1\n"));
    let mut r = MappedRandomReader::<I32Holder>::open(&speakers, &map).unwrap();
    let error = message(r.has("u1"));
    assert!(error.contains("no entry for key 'u1' before 'u2': the option 's' promises"), "{error}");
}

#[test]
fn random_access_to_scripts() {
    let folder = Folder::new();
    write_both(&folder, "");
    let (ark, missing) = (folder.path("o.ark"), folder.path("missing"));
    let scp = folder.write("r.scp", format!("z {ark}:37\na {ark}:3[0:0]\nb {ark}:3[1:1]\nm {missing}\n"));
    let mut r = RandomReader::<MatrixHolder>::open(&format!("scp:{scp}")).unwrap();
    assert_eq!(r.get("a").unwrap().unwrap().data, [1.0, 2.0]);
    assert_eq!(r.get("b").unwrap().unwrap().data, [3.0, 4.0]);
    assert_eq!(r.get("z").unwrap(), Some(&u2()));
    assert!(r.has("m").unwrap() && r.get("m").is_err() && !r.has("x").unwrap());
    let mut r = RandomReader::<MatrixHolder>::open(&format!("scp,p:{scp}")).unwrap();
    assert!(!r.has("m").unwrap() && r.get("m").unwrap().is_none() && r.has("z").unwrap());
    let error = message(RandomReader::<MatrixHolder>::open(&format!("scp,s:{scp}")));
    assert!(error.contains("not sorted"), "{error}");
    let twice = folder.write("twice.scp", "a x\na y\n");
    assert!(message(RandomReader::<MatrixHolder>::open(&format!("scp:{twice}"))).contains("twice"));
}

#[test]
fn mapped_random_access() {
    let folder = Folder::new();
    let speakers = format!("ark:{}", folder.write("spk", "s1 1\ns2 2\n"));
    let map = format!("ark:{}", folder.write("utt2spk", "u1 s1\nu2 s2\nu3 s3\n"));
    let mut r = MappedRandomReader::<I32Holder>::open(&speakers, &map).unwrap();
    assert_eq!(
        (r.get("u2").unwrap().copied(), r.get("u1").unwrap().copied(), r.get("u3").unwrap().copied()),
        (Some(2), Some(1), None)
    );
    assert!(message(r.has("s1")).contains("s1"), "not in the map");
    let mut r = MappedRandomReader::<I32Holder>::open(&speakers, "").unwrap();
    assert_eq!(r.get("s1").unwrap().copied(), Some(1));
}

#[test]
fn writing_to_the_files_of_a_script() {
    let folder = Folder::new();
    let (a, b) = (folder.path("a"), folder.path("b"));
    let scp = folder.write("w.scp", format!("b {b}\na {a}\n"));
    let mut w = TableWriter::<I32VectorHolder>::open(&format!("scp:{scp}")).unwrap();
    w.write("a", &vec![1, 2]).unwrap();
    assert!(message(w.write("c", &vec![])).contains("'c'"));
    w.write("b", &vec![]).unwrap();
    w.close().unwrap();
    assert_eq!(folder.read("a"), hex("00 42 04 02 00 00 00 04 01 00 00 00 04 02 00 00 00"));
    let mut w = TableWriter::<I32VectorHolder>::open(&format!("scp,p,t:{scp}")).unwrap();
    w.write("a", &vec![1, 2]).unwrap();
    w.write("c", &vec![]).unwrap();
    w.close().unwrap();
    assert_eq!(folder.read("a"), b"1 2 \n");
    assert_eq!(folder.list(), ["a", "b", "w.scp"], "no temporary files are left");
    let twice = folder.write("twice.scp", "a x\na y\n");
    assert!(TableWriter::<I32VectorHolder>::open(&format!("scp:{twice}")).is_err());
}

#[test]
fn writing_archives() {
    let folder = Folder::new();
    let path = folder.path("x.ark");
    let mut w = TableWriter::<TokenHolder>::open(&format!("ark,f:{path}")).unwrap();
    w.write("k", &"v".to_owned()).unwrap();
    assert_eq!(folder.read("x.ark"), b"k v\n", "flushed after each object");
    assert!(w.write("two words", &"v".to_owned()).is_err());
    w.write("l", &"v".to_owned()).unwrap();
    assert!(message(w.write("m", &"not a token".to_owned())).contains("'m'"));
    assert!(w.write("n", &"v".to_owned()).is_err(), "the archive may be damaged");
    assert!(w.close().is_err());

    let mut w = TableWriter::<I32Holder>::open(&format!("ark,t:| sort -r > {path}")).unwrap();
    w.write("a", &1).unwrap();
    w.write("b", &2).unwrap();
    w.close().unwrap();
    assert_eq!(folder.read("x.ark"), b"b 2 \na 1 \n");
    let w = TableWriter::<I32Holder>::open("ark:| cat >/dev/null; exit 2").unwrap();
    let error = message(w.close());
    assert!(error.contains("exit 2") && error.contains("exit status: 2"), "{error}");
    assert!(TableWriter::<I32Holder>::open(&format!("ark,scp:|cat,{path}")).is_err());
    assert!(TableWriter::<I32Holder>::open("ark:/nonexistent/x").is_err());
    let mut w = TableWriter::<I32VectorHolder>::open("ark:/dev/full").unwrap();
    w.write("a", &vec![1]).unwrap();
    assert!(w.close().is_err());
}

/// The error names the failed or silent command, not the place where the data end.
#[test]
fn inputs_without_data() {
    let folder = Folder::new();
    let empty = folder.path("empty");
    std::fs::write(&empty, "").unwrap();
    assert_eq!(message(kaldi_io::read_object::<DenseMatrix<f32>>(&empty)), format!("{empty} is empty"));
    let scp = folder.path("scp");
    for (line, words) in [
        (format!("a {empty}"), format!("key 'a': {empty} is empty")),
        ("a true |".to_owned(), "the command wrote nothing".to_owned()),
        ("a exit 3 |".to_owned(), "command 'exit 3' failed: exit status: 3".to_owned()),
        ("a printf ' [ 1' | sh -c 'cat; exit 4' |".to_owned(), "failed: exit status: 4".to_owned()),
    ] {
        std::fs::write(&scp, &line).unwrap();
        let error = message(read::<MatrixHolder>(&format!("scp:{scp}")));
        assert!(error.contains(&words), "{line}: {error}");
    }
    let error = message(read::<MatrixHolder>("ark:printf 'a  [ 1' | sh -c 'cat; exit 4' |"));
    assert!(error.contains("failed: exit status: 4"), "{error}");
    // With the option p, complete entries are used.
    let complete = read::<I32VectorHolder>("ark,p:printf 'a 1\\nb' | sh -c 'cat; exit 4' |").unwrap();
    assert_eq!(complete, [("a".to_owned(), vec![1])]);
}

/// The message names the kind of the objects in a table of another kind.
#[test]
fn tables_of_another_kind() {
    let folder = Folder::new();
    let (text, binary) = (folder.path("text"), folder.path("binary"));
    let error = |result: Result<()>| message(result);
    type Read = fn(&str) -> Result<()>;
    let kinds: [(&str, Read); 4] = [
        ("a matrix of floating-point numbers", |spec| read::<MatrixHolder>(spec).map(drop)),
        ("integers", |spec| read::<I32VectorHolder>(spec).map(drop)),
        ("posteriors", |spec| read::<PosteriorHolder>(spec).map(drop)),
        ("a vector of floating-point numbers", |spec| read::<VectorHolder>(spec).map(drop)),
    ];
    let write = |path: &str, kind: usize, options: &str| {
        let spec = format!("ark{options}:{path}");
        match kind {
            0 => table::<MatrixHolder>(&spec, &u1()),
            1 => table::<I32VectorHolder>(&spec, &vec![3, 4, 4]),
            2 => table::<PosteriorHolder>(&spec, &vec![vec![(3, 0.5)], vec![(1, 1.0)]]),
            _ => table::<VectorHolder>(&spec, &vec![1.5, 2.0, 3.0]),
        }
    };
    for (written, (name, _)) in kinds.iter().enumerate() {
        write(&text, written, ",t");
        write(&binary, written, "");
        for (expected, (_, read)) in kinds.iter().enumerate() {
            for path in [&text, &binary] {
                // (A vector in text is a matrix of one row, too.)
                if (written, expected) == (3, 0) && path == &text {
                    continue;
                }
                let result = read(&format!("ark:{path}"));
                if written == expected {
                    result.unwrap();
                } else {
                    let error = error(result);
                    assert!(error.contains(&format!("looks like {name}")), "{error}");
                }
            }
        }
    }
    // A script without offsets, an archive as a script and as a file, a script as an archive.
    let scp = folder.path("scp");
    std::fs::write(&scp, format!("a {binary}\n")).unwrap();
    for (result, words) in [
        (read::<VectorHolder>(&format!("scp:{scp}")).map(drop), "no offset says where in it to read"),
        (read::<VectorHolder>(&format!("scp:{text}")).map(drop), "expected a script, found an archive"),
        (kaldi_io::read_object::<Vec<f32>>(&binary).map(drop), "this is an archive"),
        (read::<VectorHolder>(&format!("ark:{scp}")).map(drop), "looks like text"),
        (read::<TokenVectorHolder>(&format!("ark:{binary}")).map(drop), "expected text, found binary data"),
    ] {
        let error = error(result);
        assert!(error.contains(words), "{error}");
    }
}

/// A table with two equal entries.
fn table<H: Holder>(wspecifier: &str, value: &H::T) {
    let mut writer = TableWriter::<H>::open(wspecifier).unwrap();
    ["a", "b"].iter().for_each(|key| writer.write(key, value).unwrap());
    writer.close().unwrap();
}

/// Lines that end in CR LF, behind empty values as well.
#[test]
fn carriage_returns() {
    let folder = Folder::new();
    let path = folder.path("crlf");
    for last in ["\r\n", " \r\n"] {
        std::fs::write(&path, format!("a 1 2\r\nb\r\nc 3\r\nd{last}")).unwrap();
        let spec = format!("ark:{path}");
        let ints = read::<I32VectorHolder>(&spec).unwrap();
        let expected = [("a", vec![1, 2]), ("b", vec![]), ("c", vec![3]), ("d", vec![])];
        assert_eq!(ints, expected.map(|(key, value)| (key.to_owned(), value)));
        assert_eq!(read::<TokenVectorHolder>(&spec).unwrap()[1], ("b".to_owned(), vec![]));
        let mut random = RandomReader::<I32VectorHolder>::open(&spec).unwrap();
        assert_eq!(random.get("d").unwrap(), Some(&vec![]));
        random.close().unwrap();
    }
}
