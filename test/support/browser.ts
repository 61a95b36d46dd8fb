import { setTimeout as sleep } from 'node:timers/promises'
import chromium from '@sparticuz/chromium'
import { type Browser, type BrowserContextOptions, chromium as engine, type Page } from 'playwright-core'

/** A Chromium of the machine, in place of the one that comes as a package. */
const named = process.env.TEST_CHROMIUM

/** Why pages cannot be looked at here; false where they can. The package is for Linux on x64 only. */
export const noBrowser: string | false =
  named || (process.platform === 'linux' && process.arch === 'x64')
    ? false
    : 'there is no browser for this machine; TEST_CHROMIUM may name one'

export interface TestBrowser extends AsyncDisposable {
  /** A page of its own; what it complains of (scripts, security policy, failed requests) is collected. */
  open(url: string, settings?: BrowserContextOptions): Promise<{ page: Page; complaints: string[] }>
}

/** Of a browser that shows one page and is thrown away; and one that would hide what a policy forbids. */
const unwanted = ['--single-process', '--no-zygote', '--disable-web-security', '--allow-running-insecure-content']

/** Processes of a test run share the file of the package: one may still be unpacking it when the next one starts it. */
async function launched(executablePath: string, args: string[]): Promise<Browser> {
  for (let attempts = 100; ; attempts--) {
    try {
      return await engine.launch({ executablePath, args, headless: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ETXTBSY' || attempts === 0) throw error
      await sleep(200)
    }
  }
}

/** @param localhost address of the service that stands for `localhost`, whatever the port: passkeys need a name. */
export async function startBrowser({ localhost }: { localhost?: string } = {}): Promise<TestBrowser> {
  const executablePath = named || (await chromium.executablePath())
  const mapped = localhost === undefined ? [] : [`--host-resolver-rules=MAP localhost ${new URL(localhost).host}`]
  const args = [...chromium.args.filter((arg) => !unwanted.includes(arg)), ...mapped]
  const browser = await launched(executablePath, args)
  return {
    async open(url, settings = {}) {
      const page = await browser.newPage(settings)
      const complaints: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text())
      })
      page.on('pageerror', (error) => complaints.push(error.message))
      await page.goto(url)
      return { page, complaints }
    },
    [Symbol.asyncDispose]: () => browser.close(),
  }
}
