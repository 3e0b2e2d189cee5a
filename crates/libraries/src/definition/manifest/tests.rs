use super::*;

const MANIFEST: &str = r#"<?xml version='1.0' encoding='utf-8'?>
<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events">
 <instrumentation>
  <events><provider name="not this one"/></events>
  <counters xmlns="http://schemas.microsoft.com/win/2005/12/counters" schemaVersion="1.1">
   <provider symbol="Sym" providerName="My Waves" providerGuid="{1}">
    <counterSet guid="{2}" name="Waves" description="$(string.WavesHelp)"
                instances="globalAggregate">
     <structs><struct name="S" type="WAVES"/></structs>
     <counter id="1" name="$(string.Sine)" type="perf_counter_rawcount" field="Sine"
              detailLevel="standard" aggregate="sum" defaultScale="-3"/>
     <counter id="4" type="perf_raw_base" detailLevel="standard"/>
     <counter id="5" name="Part" description=" of it " type="PERF_RAW_FRACTION" baseID="4"
              detailLevel="advanced"><counterAttributes>
       <counterAttribute name="reference"/><counterAttribute name="displayAsHex"/>
     </counterAttributes></counter>
    </counterSet>
    <counterSet guid="{3}" name="None yet"/>
   </provider>
  </counters>
 </instrumentation>
 <localization>
  <resources culture="en-US"><stringTable>
   <string id="Sine" value="Sine &amp; more"/><string id="WavesHelp" value="What waves do"/>
  </stringTable></resources>
  <resources culture="de-DE"><stringTable><string id="Sine" value="Sinus"/></stringTable></resources>
 </localization>
</instrumentationManifest>"#;

fn parse(text: &str) -> Result<WithWarnings<Vec<ProviderDefinition>>, DefinitionError> {
    parse_manifest(Path::new("x.man"), text.as_bytes(), None)
}

#[test]
fn counter_sets_counters_and_their_types() {
    let read = parse(MANIFEST).unwrap();
    let warnings: Vec<String> = read.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["x.man:18: <counterSet> has no counters"]);
    let [one] = read.value.as_slice() else { panic!("{:?}", read.value) };
    assert_eq!((one.name.as_str(), one.objects.as_slice()), ("My Waves", &[0, 8][..]));
    let names = |at: usize| {
        let texts = &one.titles[at];
        let names = texts.names.iter().map(|(offset, name)| (*offset, name.as_str()));
        (texts.language.0, names.collect::<Vec<_>>())
    };
    assert_eq!(names(0), (7, vec![(2, "Sinus")]));
    assert_eq!(names(1), (9, vec![(0, "Waves"), (2, "Sine & more"), (6, "Part"), (8, "None yet")]));
    let help = [(0, "What waves do".to_string()), (6, "of it".to_string())];
    assert_eq!(one.titles[1].help, help);
    let [sine, base, part] = one.declared[0].counters.as_slice() else { panic!("{one:?}") };
    assert_eq!(one.declared[0].instances, InstanceKind::GlobalAggregate);
    assert_eq!(one.declared[1].instances, InstanceKind::Single);
    assert_eq!((sine.offset, sine.id, sine.scale), (2, 1, -3));
    assert_eq!(sine.counter_type, CounterType::PERF_COUNTER_RAWCOUNT);
    assert_eq!(sine.field, Some(("WAVES".to_string(), "Sine".to_string())));
    assert_eq!(sine.aggregate.as_deref(), Some("sum"));
    assert!(base.no_display && !sine.no_display && !part.no_display);
    assert_eq!((part.base, part.advanced), (Some(4), true));
    assert_eq!(part.attributes, ["reference", "displayAsHex"]);
    // The same in UTF-16, with a declaration that says something else.
    let wide: Vec<u8> = MANIFEST.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked = [vec![0xff, 0xfe], wide.clone()].concat();
    for bytes in [wide, marked] {
        let again = parse_manifest(Path::new("x.man"), &bytes, None).unwrap();
        assert_eq!(again.value, read.value);
    }
    let latin = MANIFEST.replace("utf-8", "windows-1252").replace("Sinus", "Größe");
    let (latin, _, _) = encoding_rs::WINDOWS_1252.encode(&latin);
    let read = parse_manifest(Path::new("x.man"), &latin, None).unwrap();
    assert_eq!(read.value[0].titles[0].names, [(2, "Größe".to_string())]);
}

#[test]
fn errors_name_their_line() {
    let with =
        |from: &str, to: &str| parse(&MANIFEST.replacen(from, to, 1)).unwrap_err().to_string();
    for (from, to, place, needle) in [
        ("<counters ", "<counter ", "x.man:", "not sound XML"),
        ("guid=\"{2}\"", "", "x.man:7:", "no guid"),
        ("globalAggregate", "some", "x.man:7:", "multipleAggregate"),
        ("name=\"Waves\"", "", "x.man:7:", "no name"),
        ("id=\"1\"", "", "x.man:10:", "no id"),
        ("id=\"1\"", "id=\"4\"", "x.man:12:", "twice"),
        ("id=\"1\"", "id=\"one\"", "x.man:10:", "a number"),
        ("perf_raw_base", "perf_base", "x.man:12:", "not a counter type"),
        ("baseID=\"4\"", "baseID=\"9\"", "x.man:13:", "baseID is 9"),
        ("\"-3\"", "\"-30\"", "x.man:10:", "-10 to 10"),
        ("\"advanced\"", "\"high\"", "x.man:13:", "detailLevel"),
        ("string.Sine", "string.Cosine", "x.man:10:", "Cosine"),
        ("<?xml version='1.0' encoding='utf-8'?>", "<!DOCTYPE x>", "x.man:1", "XML"),
    ] {
        let error = with(from, to);
        assert!(error.starts_with(place) && error.contains(needle), "{error}");
    }
    for none in ["<a/>", "<counters><x/></counters>", "<counters><provider symbol='x'/></counters>"]
    {
        let error = parse(none).unwrap_err().to_string();
        assert!(error.contains("has no"), "{error}");
    }
    let warning = |from: &str, to: &str| {
        let read = parse(&MANIFEST.replacen(from, to, 1)).unwrap();
        read.warnings[0].to_string()
    };
    assert!(warning(" baseID=\"4\"", "").contains("x.man:13: PERF_RAW_FRACTION"));
    assert!(warning("name=\"Part\"", "").contains("counter 5 has no name"));
    assert!(warning("<struct name=\"S\" type=\"WAVES\"/>", "").contains("field Sine"));
}

/// When both are registered, the second provider would replace the first.
#[test]
fn two_providers_of_one_name_are_refused() {
    let provider = |name: &str| {
        format!(
            "<provider providerName=\"{name}\">\n<counterSet guid=\"{{2}}\" name=\"A\">\n\
             <counter id=\"1\" name=\"x\" type=\"perf_counter_rawcount\"/>\n\
             </counterSet></provider>\n"
        )
    };
    let manifest = |names: [&str; 2]| {
        let providers = names.map(provider).concat();
        parse(&format!("<m><counters>\n{providers}</counters></m>"))
    };
    assert_eq!(manifest(["Once", "Twice"]).unwrap().value.len(), 2);
    let error = manifest(["Twice", "twice"]).unwrap_err();
    assert_eq!(error.line(), Some(6));
    assert!(error.message().contains("twice is there already"), "{error}");
}

/// A manifest that no author writes costs no more than its size.
#[test]
fn hostile_manifests() {
    let depth = 200_000;
    let deep = "<a>".repeat(depth) + &"</a>".repeat(depth);
    assert!(parse(&deep).is_err());
    assert!(parse(&"<a>".repeat(depth)).is_err());
    let wide = format!("<counters>{}</counters>", "<provider/>".repeat(depth));
    assert!(parse(&wide).unwrap_err().to_string().contains("providerName"));
    let attributes: String = (0..20_000).map(|n| format!(" a{n}='x'")).collect();
    let error = parse(&format!("<!-- <a ' -->\n<counters{attributes}/>")).unwrap_err();
    assert!(error.line() == Some(2) && error.message().contains("256 attributes"), "{error}");
    // Nothing but attributes counts.
    let signs = "=".repeat(1000);
    let text =
        format!("<!--{signs}--><a b='{signs}>\"'><![CDATA[<{signs}]]>{signs}</a><?x {signs}?>");
    assert!(parse(&text).unwrap_err().message().contains("has no provider"));
    let counters = "<counter id='1' type='perf_counter_rawcount'/>".repeat(50_000);
    let many = MANIFEST.replace(
        "<counterSet guid=\"{3}\" name=\"None yet\"/>",
        &format!("<counterSet guid=\"{{3}}\" name=\"None yet\">{counters}</counterSet>"),
    );
    assert!(parse(&many).is_err());
    // Each has a warning, and each warning a line to be found.
    let sets = "<counterSet guid='{3}' name='x'/>\n".repeat(20_000);
    let many = MANIFEST.replace("<counterSet guid=\"{3}\" name=\"None yet\"/>", &sets);
    assert_eq!(parse(&many).unwrap().warnings.len(), 101);
    // One long string for many names.
    let long = MANIFEST.replace("What waves do", &"x".repeat(30_000)).replace(
        "<counterSet guid=\"{3}\" name=\"None yet\"/>",
        &"<counterSet guid='{3}' name='$(string.WavesHelp)'/>".repeat(700),
    );
    assert!(parse(&long).unwrap_err().message().contains("16 MiB"));
    let long = MANIFEST.replace("What waves do", &"x".repeat(40_000));
    assert!(parse(&long).unwrap_err().to_string().starts_with("x.man:7: description has more"));
    let spaces: String = (0..20_000).map(|n| format!("<a xmlns:a{n}='u{n}'>")).collect();
    assert!(parse(&spaces).unwrap_err().message().contains("1000 namespaces"));
    let open = "<localization><resources><stringTable>".repeat(60_000);
    assert!(parse(&format!("<a>{open}")).is_err());
}

/// Every type that the schema lists is known.
#[test]
fn types_of_the_schema() {
    for name in [
        "perf_counter_counter",
        "perf_counter_timer",
        "perf_counter_queuelen_type",
        "perf_counter_large_queuelen_type",
        "perf_counter_100ns_queuelen_type",
        "perf_counter_obj_time_queuelen_type",
        "perf_counter_bulk_count",
        "perf_counter_text",
        "perf_counter_rawcount",
        "perf_counter_large_rawcount",
        "perf_counter_rawcount_hex",
        "perf_counter_large_rawcount_hex",
        "perf_sample_fraction",
        "perf_sample_counter",
        "perf_counter_timer_inv",
        "perf_sample_base",
        "perf_average_timer",
        "perf_average_base",
        "perf_average_bulk",
        "perf_obj_time_timer",
        "perf_100nsec_timer",
        "perf_100nsec_timer_inv",
        "perf_counter_multi_timer",
        "perf_counter_multi_timer_inv",
        "perf_counter_multi_base",
        "perf_100nsec_multi_timer",
        "perf_100nsec_multi_timer_inv",
        "perf_raw_fraction",
        "perf_large_raw_fraction",
        "perf_raw_base",
        "perf_large_raw_base",
        "perf_elapsed_time",
        "perf_counter_delta",
        "perf_counter_large_delta",
        "perf_precision_system_timer",
        "perf_precision_100ns_timer",
        "perf_precision_object_timer",
    ] {
        assert!(counter_type(name).is_some(), "{name}");
    }
}
