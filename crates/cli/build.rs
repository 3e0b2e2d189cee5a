//! Adds the version resource and the icon to perfhive.exe.

fn main() {
    println!("cargo:rerun-if-changed=windows/perfhive.ico");
    if std::env::var_os("CARGO_CFG_WINDOWS").is_none() {
        return;
    }
    let mut resource = winresource::WindowsResource::new();
    resource.set_icon("windows/perfhive.ico");
    resource.set("ProductName", "perfhive");
    resource.set("FileDescription", "perfhive: performance counters");
    resource.set("OriginalFilename", "perfhive.exe");
    // A cross-build may have no resource compiler; the command works without the resources.
    if let Err(error) = resource.compile() {
        println!("cargo:warning=perfhive.exe has no icon and no version resource: {error}");
    }
}
