//! Scripts as PAL's files have them, and what is not understood.

use super::*;

struct Fixed;

impl World for Fixed {
    fn count(&mut self, collection: &str) -> Option<f64> {
        (collection == "processors").then_some(5.0)
    }

    fn variable(&mut self, name: &str) -> Result<f64, String> {
        match name {
            "physicalmemory" => Ok(16.0),
            name => Err(format!("asks for {name}")),
        }
    }

    fn text(&mut self, name: &str) -> Result<String, String> {
        match name {
            "os" => Ok("64-bit Windows".to_string()),
            name => Err(format!("asks for {name}")),
        }
    }
}

fn limit(code: &str) -> Result<f64, String> {
    let code = format!(
        "{code}\nStaticThreshold -CollectionOfCounterInstances $C -Operator 'gt' -Threshold $x"
    );
    run(&code, &mut Fixed).map(|calls| calls.first().map_or(f64::NAN, |call| call.limit))
}

#[test]
fn arithmetic_is_that_of_powershell() {
    for (code, value) in [
        ("$x = 2 + 3 * 4", 14.0),
        ("$x = (2 + 3) * 4 - 1", 19.0),
        ("$x = 7 / 2", 3.5),
        ("$x = [int] 2.5", 2.0),
        ("$x = [Int] 3.5 * 2", 8.0),
        ("[Int] $x = $Processors.Count - 1", 4.0),
        ("[Int] $x = 1\n$x = 2.6", 3.0),
        ("$x = $([Int] $PhysicalMemory * 1024) * 0.10", 1638.4),
        ("$x = -$([Int]$PhysicalMemory) * 0.30", -4.8),
        ("$x = $([Math]::Round($PhysicalMemory / 5,0)) * 1KB", 3072.0),
        ("$x = [math]::Round(2.125, 2)", 2.12),
        ("$x = 0.60 * 8TB # in bytes", 0.60 * 8.0 * 1024_f64.powi(4)),
        ("$x = 1; If ($x -eq 1) { $x = 7 } Else { $x = $nothing }", 7.0),
        ("$x = 1\nIf ($x -eq 0)\n{\n$x = 7\n}\nElseIf (($x -gt 0) -and ($x -lt 2))\n{$x = 8}", 8.0),
        ("$x = 1\nIf (($x + 1) * 2 -ge 4) {$x = 9}", 9.0),
        ("$bits = $OS.substring(0,2)\nIf ($bits -eq '64') {$x = 3} Else {$x = $Nothing}", 3.0),
        ("If (($OS -ne '64-BIT windows') -or (1 -eq 2)) {$x = 3} Else {$x = 4}", 4.0),
        ("$n = 0; $x = 1; If (($n -ne 0) -and (5 / $n -gt 1)) {$x = 2}", 1.0),
        ("$n = 0; $x = 1; If (($n -eq 0) -or (5 / $n -gt 1)) {$x = 2}", 2.0),
        ("$x = 1; If (1 -eq 2 -and $Nothing -eq 3 -or 4 -eq 4) {$x = 2}", 2.0),
        ("$y = 'a'; $y = 2; $x = $y", 2.0),
        (
            "$OS = [string] $OS.ToUpper()\nswitch ($OS)\n{\n'A' {$x = $Nothing}\n\
             '64-BIT WINDOWS' { switch ($(2 * 1)) { 1 {$x = 5} 2 {$x = 6} default {$x = 7} } }\n\
             default\n{$x = $Nothing}\n}",
            6.0,
        ),
        ("switch ($PhysicalMemory) { 1 {$x = 5} default {$x = 7} }", 7.0),
    ] {
        assert_eq!(limit(code), Ok(value), "{code}");
    }
}

#[test]
fn what_is_not_known_is_an_error_that_names_it() {
    for (code, why) in [
        ("$x = $UserVa", "asks for userva"),
        ("$x = $OS.substring(0,2)", "uses \"$x\""),
        ("$y = $OS.substring(0,99)", "takes more letters than \"64-bit Windows\" has"),
        ("$y = $OS.Trim()", "uses \"$OS.Trim()\""),
        ("If ($OS -gt 'a') {$x = 1}", "uses \"-gt\""),
        ("If ($PC -eq 'a') {$x = 1}", "asks for pc"),
        (
            "switch (1) { default {$x = 1} 1 {$x = 2} }",
            "has a \"default\" in front of other labels",
        ),
        ("For ($i=0;$i -lt 3;$i++) {}", "uses \"For\""),
        ("$x = [Math]::Max(1, 2)", "uses \"::Max\""),
        ("$x = [string] 3", "uses \"[string]\""),
        ("$x = 1 / 0", "divides by zero"),
        ("$x = $Nothing.Count", "counts \"$nothing\", which is not counters of the log"),
        ("$x = 0x10", "uses \"0x10\""),
        ("$x = [int] 3000000000", "makes a whole number of 3000000000, which is too large"),
        ("$x = (1", "uses \"StaticThreshold\""),
        ("$x = ", "uses \"StaticThreshold\""),
    ] {
        assert_eq!(limit(code), Err(why.to_string()), "{code}");
    }
    let deep = format!("$x = {}1", "(".repeat(100_000));
    assert_eq!(limit(&deep), Err("is nested too deeply".to_string()));
    let deep = format!("If {}", "(".repeat(200));
    assert_eq!(limit(&deep), Err("is nested too deeply".to_string()));
}

#[test]
fn calls_have_their_options_in_any_order() {
    let code = "StaticThreshold -Operator 'lt' -Threshold 100MB -IsTrendOnly $True -CollectionOfCounterInstances $A";
    let call = Call {
        collection: "a".to_string(),
        comparison: Comparison::Less,
        limit: 104_857_600.0,
        is_trend: true,
    };
    assert_eq!(run(code, &mut Fixed), Ok(vec![call]));
    let code = "StaticThreshold -Operator 'lt' -Threshold 1";
    assert!(run(code, &mut Fixed).is_err());
    // The condition does not hold, and so nothing is called.
    let code = "If (1 -gt 2) { StaticThreshold -CollectionOfCounterInstances $A -Operator gt -Threshold 1 }";
    assert_eq!(run(code, &mut Fixed), Ok(vec![]));
}
