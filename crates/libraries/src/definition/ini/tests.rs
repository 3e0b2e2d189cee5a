use super::*;

const HEADER: &str = "#define OBJ 0\n#define A_1 2\n#define B 4\n";

fn parse_with(
    ini: &[u8],
    header: &str,
) -> Result<WithWarnings<ProviderDefinition>, DefinitionError> {
    parse_ini(Path::new("x.ini"), ini, None, |name| {
        Ok((PathBuf::from(name), header.as_bytes().to_vec()))
    })
}

fn parse(ini: &str) -> Result<WithWarnings<ProviderDefinition>, DefinitionError> {
    parse_with(ini.as_bytes(), HEADER)
}

fn names(read: &WithWarnings<ProviderDefinition>) -> Vec<(u16, u32, &str)> {
    let all = read.value.titles.iter();
    all.flat_map(|texts| texts.names.iter().map(|(at, name)| (texts.language.0, *at, &**name)))
        .collect()
}

const GOOD: &str = "; a comment\n[info]  \ndrivername = My \nsymbolfile=\"x.h\"\n[Languages] ; two\n\
    009=English\n007=Deutsch\n[OBJECTS]\nOBJ_009_NAME=\n[text]\n// x\n\
    OBJ_009_NAME=Thing  \nOBJ_009_HELP= 'What it is' \nA_1_009_name=First\nA_1_007_NAME=Erste\n\
    A_1_009_HELP=f\nA_1_007_HELP=e\nB_009_NAME=Rest = more\nB_009_HELP=b\n";

#[test]
fn every_oddity_that_profile_functions_let_pass() {
    let read = parse(GOOD).unwrap();
    assert_eq!(read.warnings, []);
    assert_eq!(read.value.name, "My");
    assert_eq!(read.value.objects, [0]);
    assert_eq!(
        names(&read),
        [(7, 2, "Erste"), (9, 0, "Thing"), (9, 2, "First"), (9, 4, "Rest = more")]
    );
    assert_eq!(read.value.titles[1].help[0], (0, "What it is".to_string()));
    // The same text in every encoding, with line ends of every kind.
    let crlf = GOOD.replace('\n', "\r\n").replace("Erste", "Größe");
    let little: Vec<u8> = crlf.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = crlf.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked = |mark: &[u8], rest: &[u8]| [mark, rest].concat();
    let (latin, _, lost) = encoding_rs::WINDOWS_1252.encode(&crlf);
    assert!(!lost);
    for bytes in [
        crlf.clone().into_bytes(),
        marked(&[0xef, 0xbb, 0xbf], crlf.as_bytes()),
        marked(&[0xff, 0xfe], &little),
        marked(&[0xfe, 0xff], &big),
        little.clone(),
        big,
        latin.into_owned(),
    ] {
        let read = parse_with(&bytes, HEADER).unwrap();
        assert_eq!(names(&read)[0], (7, 2, "Größe"));
        assert_eq!(read.warnings, []);
    }
    // Half a character of UTF-16 is not text.
    let odd = marked(&[0xff, 0xfe], &little[..little.len() - 1]);
    assert!(parse_with(&odd, HEADER).is_err());
}

#[test]
fn code_pages_go_by_the_languages() {
    let text = GOOD.replace("007", "019").replace("Erste", "Скорость");
    let (bytes, _, lost) = encoding_rs::WINDOWS_1251.encode(&text);
    assert!(!lost);
    assert_eq!(names(&parse_with(&bytes, HEADER).unwrap())[1], (9, 2, "First"));
    assert_eq!(names(&parse_with(&bytes, HEADER).unwrap())[3], (0x19, 2, "Скорость"));
    // Two languages of different code pages: the encoding is unknown.
    let mixed = text.replace("019=Deutsch", "019=Russian\n011=Japanese");
    let (bytes, ..) = encoding_rs::WINDOWS_1251.encode(&mixed);
    let error = parse_with(&bytes, HEADER).unwrap_err().to_string();
    assert!(error.contains("--encoding") && error.contains("Shift_JIS"), "{error}");
    let named = parse_ini(Path::new("x.ini"), &bytes, "cp1251".parse().ok(), |name| {
        Ok((name.into(), HEADER.into()))
    });
    assert!(names(&named.unwrap()).contains(&(0x19, 2, "Скорость")));
}

#[test]
fn missing_parts_are_errors_with_their_place() {
    for (bad, header, place, needle) in [
        ("", HEADER, "x.ini:", "[info]"),
        ("[info]\ndrivername=x\nsymbolfile=y\n", HEADER, "x.ini:", "[text]"),
        ("[info]\nsymbolfile=y\n[text]\n", HEADER, "x.ini:", "drivername"),
        ("[info]\ndrivername=x\n[text]\n", HEADER, "x.ini:", "symbolfile"),
        (GOOD, "#define OBJ 0\n#define A_1 2\n", "x.ini:18:", "#define B"),
        (GOOD, "#define OBJ 0\n#define A_1 3\n#define B 4\n", "x.h:2:", "even"),
        (GOOD, "#define OBJ 0\n#define A_1 2\n#define B 2\n", "x.h:3:", "both 2"),
        (GOOD, "#define OBJ 0\n#define A_1 2\n#define B 70000\n", "x.h:3:", "at most"),
        (GOOD, "#define OBJ 0\n#define A_1 2\n\n#define B four\n", "x.h:4:", "four"),
        ("[info]\ndrivername=x\nsymbolfile=y\n[text]\n", HEADER, "x.ini:", "no name"),
    ] {
        let error = parse_with(bad.as_bytes(), header).unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains(needle), "{error}");
    }
    let long = GOOD.replace("Thing", &"x".repeat(1 << 20));
    assert!(parse(&long).unwrap_err().to_string().starts_with("x.ini:12: the name of OBJ"));
}

#[test]
fn oddities_are_warnings() {
    let warning = |from: &str, to: &str| {
        let read = parse(&GOOD.replace(from, to)).unwrap();
        assert_eq!(read.warnings.len(), 1, "{:?}", read.warnings);
        read.warnings[0].to_string()
    };
    assert!(warning("[OBJECTS]\nOBJ_009_NAME=\n", "").contains("[objects]"));
    assert!(warning("007=Deutsch\n", "").contains("the language 007 is not in [languages]"));
    // As loadctr does, it registers an object whose symbol has no text.
    let nameless = parse(&GOOD.replace("OBJ_009_NAME=Thing  \n", "")).unwrap();
    assert_eq!(nameless.value.objects, [0]);
    let said = nameless.warnings.iter().map(ToString::to_string).collect::<String>();
    assert!(said.contains("x.ini:9: the object OBJ has no name"), "{said}");
    assert!(warning("B_009_HELP=b\n", "").starts_with("x.ini:18: \"Rest = more\" has no help"));
    assert!(warning("B_009_HELP=b\n", "B_009_HELP=b\nB_009_NAME=Other\n").starts_with("x.ini:20:"));
    assert!(warning("[text]\n", "[text]\nB_NAME=x\n").starts_with("x.ini:11: \"B_NAME\""));
    let all = parse(&GOOD.replace("009=English\n007=Deutsch\n", "")).unwrap();
    assert!(all.warnings[0].message().contains("taken from [text]: 007, 009"));
    assert_eq!(names(&all).len(), 4);
    let shifted = parse_with(GOOD.as_bytes(), "#define OBJ 2\n#define A_1 4\n#define B 6\n");
    assert!(shifted.unwrap().warnings[0].message().contains("should be 0"));
}

#[test]
fn the_symbol_file_is_found_in_any_case_of_letters() {
    let folder = tempfile::tempdir().unwrap();
    let ini = folder.path().join("Own.ini");
    std::fs::write(&ini, GOOD.replace("x.h", r"..\inc\Names.H")).unwrap();
    let error = read_ini(&ini, &ReadOptions::default()).unwrap_err();
    assert!(error.line() == Some(4) && error.message().contains("symbol file"), "{error}");
    std::fs::write(folder.path().join("names.h"), HEADER).unwrap();
    assert_eq!(names(&read_ini(&ini, &ReadOptions::default()).unwrap()).len(), 4);
    let other = folder.path().join("other.h");
    std::fs::write(&other, "#define OBJ 0\n#define A_1 2\n#define B 40\n").unwrap();
    let options = ReadOptions { symbols: Some(other), ..ReadOptions::default() };
    assert_eq!(read_ini(&ini, &options).unwrap().value.last_offset(), 40);
}
