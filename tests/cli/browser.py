"""A browser for tests of pages, and the accessibility checker axe. Without what they need a test is skipped."""
import os
import pathlib
import shutil
import subprocess
import sys


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


try:
    from selenium import webdriver
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError as error:
    skip(f"{sys.executable} has no {error.name} (scripts/setup.sh --tests installs it)")


def axe_source(folder):
    """The text of axe, which `folder` keeps from run to run; "" where it cannot be had."""
    venv = folder / "axe-venv"
    if not venv.exists():
        new = folder / f"axe-venv.{os.getpid()}"  # tests of other pages may make one at the same time
        for command in ([sys.executable, "-m", "venv", new],
                        [new / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--retries", "1",
                         "--timeout", "10", "axe-core-python==0.1.0"]):
            if subprocess.run(command, capture_output=True, check=False).returncode != 0:
                shutil.rmtree(new, ignore_errors=True)
                return ""
        try:
            os.replace(new, venv)
        except OSError:
            shutil.rmtree(new)
    found = list(venv.glob("lib/python*/site-packages/axe_core_python/axe.min.js"))
    return found[0].read_text(encoding="utf-8") if found else ""


def open_browser(logs=("browser",)):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or skip("there is no chromium")
    driver = shutil.which("chromedriver") or skip("there is no chromedriver (chromium-driver)")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--force-prefers-reduced-motion"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {log: "ALL" for log in logs})
    return webdriver.Chrome(options=options, service=webdriver.chrome.service.Service(driver))


def wait(browser, script, *arguments):
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script(script, *arguments))


def show(browser, path, width=1440, height=900, dark=False, fragment=""):
    """Opens a page and waits until it is drawn."""
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
    browser.get("about:blank")
    browser.get(path.as_uri() + fragment)
    wait(browser, "return document.documentElement.dataset.ready === 'yes'")


def rendered(browser, path):
    """The elements of a page as text, when it is drawn, all its sections open."""
    browser.get(pathlib.Path(os.fsdecode(path)).absolute().as_uri())
    browser.set_script_timeout(60)
    return browser.execute_async_script("""
        const done = arguments[0];
        (function look() {
            if (document.documentElement.dataset.ready !== "yes") { setTimeout(look, 20); return; }
            let closed;
            while ((closed = [...document.querySelectorAll("details:not([open])")]).length > 0)
                for (const one of closed) { one.open = true; openSection(one); }
            done(document.getElementById("root").outerHTML);
        })();""")


def runs_foreign_scripts(browser):
    """Whether the page that is shown runs a script that is not its own. What the browser logs about that is taken."""
    browser.execute_script("""
        const one = document.createElement("script");
        one.textContent = "window.foreign = 1";
        document.body.append(one);""")
    refused = [entry for entry in browser.get_log("browser") if "Content Security Policy" in entry["message"]]
    return browser.execute_script("return window.foreign === 1") or not refused


def serious_faults(browser, axe):
    """What axe finds on the page that is shown."""
    browser.execute_script(axe)
    browser.set_script_timeout(120)
    found = browser.execute_async_script("axe.run().then(arguments[0])")
    assert len(found["passes"]) > 10
    return [(one["id"], [node["html"][:200] for node in one["nodes"][:3]], one["nodes"][0]["failureSummary"])
            for one in found["violations"] if one["impact"] in ("serious", "critical")]
