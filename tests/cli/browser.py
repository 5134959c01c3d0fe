"""A browser for tests of pages, and the accessibility checker axe. Without what they need a test is skipped."""
import os
import shutil
import subprocess
import sys


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


try:
    import jinja2  # noqa: F401
    from selenium import webdriver
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


def open_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or skip("there is no chromium")
    driver = shutil.which("chromedriver") or skip("there is no chromedriver (chromium-driver)")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--force-prefers-reduced-motion"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.chrome.service.Service(driver))


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
