import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import axe from 'axe-core'
import sharp from 'sharp'
import { noBrowser, startBrowser } from '../support/browser.ts'
import { startService, type TestService } from '../support/service.ts'

let svc: TestService
before(async () => {
  svc = await startService({ databaseName: 'museum' })
})
after(() => svc[Symbol.asyncDispose]())

const browser = (language: string) => ({
  accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
  'accept-language': language,
})
const open = (url: string, language = 'en') => svc.inject({ method: 'GET', url, headers: browser(language) })

const hrefs = (page: string): string[] => [...page.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href)

test('the start page speaks the language of the visitor, and leads to the account, the documentation and the interface', async () => {
  for (const [language, title, sign] of [
    ['en-GB', 'What runs here', 'Sign in'],
    ['de', 'Was hier läuft', 'Anmelden'],
  ] as const) {
    const page = await open('/', language)
    assert.equal(page.statusCode, 200)
    assert.ok(page.body.includes(`<html lang="${language.slice(0, 2)}">`))
    for (const text of [title, sign, 'Strongroom', 'museum']) assert.ok(page.body.includes(text), text)
    const links = hrefs(page.body)
    for (const link of ['/api/page/security', '/docs/', '/api/v1/system/openapi/', '/api/v1/settings'])
      assert.ok(links.includes(link), link)
    for (const link of ['/docs/', '/api/v1/settings', '/favicon.svg']) assert.equal((await open(link)).statusCode, 200)
    assert.ok([200, 303].includes((await open('/api/page/security', language)).statusCode))
  }
})

test('an address that nothing has is a page for people, and the envelope for programs, with the same status', async () => {
  for (const url of ['/no/such/page', '/api/v1/serch']) {
    const page = await open(url, 'de-DE,de;q=0.9')
    assert.match(String(page.headers['content-type']), /^text\/html/)
    assert.match(page.body, /Unter dieser Adresse gibt es nichts/)
    assert.ok(hrefs(page.body).includes('/'))
    assert.ok(page.body.includes('UnknownEndpointMethod'), 'for those who look after the application')
    const program = await svc.inject({ method: 'GET', url })
    assert.equal(program.json().code, 'UnknownEndpointMethod')
    assert.equal(page.statusCode, program.statusCode)
  }
  const nasty = await open('/%3Cscript%3Ealert(1)%3C/script%3E')
  assert.ok(!nasty.body.includes('<script>alert'))
  assert.match(String(nasty.headers['content-security-policy']), /default-src 'none'/)
})

test('/health says whether the service works, to people and to programs', async () => {
  const program = await svc.inject({ method: 'GET', url: '/health' })
  assert.deepEqual([program.statusCode, program.json()], [200, { status: 'ok', database: true }])
  assert.match(String(program.headers['cache-control']), /no-store/)
  assert.match((await open('/health', 'de')).body, /Der Dienst läuft/)
})

test('the icon is one that browsers can show', async () => {
  const file = await svc.inject({ method: 'GET', url: '/favicon.ico' })
  assert.equal(file.headers['content-type'], 'image/x-icon')
  const icon = file.rawPayload
  assert.deepEqual([icon.readUInt16LE(0), icon.readUInt16LE(2), icon.readUInt16LE(4)], [0, 1, 1])
  const [size, offset] = [icon.readUInt32LE(14), icon.readUInt32LE(18)]
  assert.equal(offset + size, icon.length)
  const { format, width, height } = await sharp(icon.subarray(offset)).metadata()
  assert.deepEqual([format, width, height], ['png', 32, 32])
  const drawing = await svc.inject({ method: 'GET', url: '/favicon.svg' })
  assert.equal((await sharp(drawing.rawPayload).metadata()).format, 'svg')
})

test('the documentation is served; each link of it leads somewhere, each anchor is there', async () => {
  const start = await open('/docs/')
  assert.equal(start.statusCode, 200)
  assert.match(start.body, /<h1[^>]*>Documentation<\/h1>/)
  const drawing = /<img src="data:image\/svg\+xml;base64,([^"]+)" alt="[^"]+">/.exec(start.body)?.[1] ?? ''
  assert.equal((await sharp(Buffer.from(drawing, 'base64')).metadata()).format, 'svg')
  const pages = hrefs(start.body).filter((href) => /^\/docs\/[a-z-]+$/.test(href))
  assert.ok(pages.length > 15, `${pages.length} pages`)
  const bodies = new Map<string, string>([['/docs/', start.body]])
  for (const page of pages) {
    const answer = await open(page)
    assert.equal(answer.statusCode, 200, page)
    bodies.set(page, answer.body)
  }
  for (const [page, body] of bodies) assert.ok(!body.includes('</pre>\\n'), page)
  // Whoever begins at the index reaches every page.
  const listed = new Set(hrefs(start.body.slice(start.body.indexOf('<article'))).map((href) => href.replace(/#.*/, '')))
  const unlisted = pages.map((page) => page.replace('/docs/', '')).filter((name) => !listed.has(name))
  assert.deepEqual(unlisted, [])
  const broken: string[] = []
  for (const [page, body] of bodies) {
    for (const href of hrefs(body)) {
      if (/^(https?|mailto):/.test(href)) continue
      const { pathname, hash } = new URL(href, `http://localhost${page}`)
      const target = bodies.get(pathname)
      if (target === undefined && (await open(pathname)).statusCode >= 400) broken.push(`${page}: ${href}`)
      if (target !== undefined && hash !== '' && !target.includes(`id="${decodeURIComponent(hash.slice(1))}"`))
        broken.push(`${page}: ${href}`)
    }
  }
  assert.deepEqual(broken, [])
  assert.equal((await open('/docs/search.md')).statusCode, 200, 'as the files name it')
  for (const name of ['nothing', '..%2Fpackage', '%2e%2e%2fpackage.json', 'constructor', '__proto__'])
    assert.ok((await open(`/docs/${name}`)).statusCode >= 400, name)
})

suite('in a browser', { skip: noBrowser }, () => {
  test('axe finds nothing, at the width of a desk and of a telephone, in either language; nothing stands out of the page', async () => {
    const address = await svc.listen()
    await using browser = await startBrowser()
    for (const path of ['/', '/docs/', '/docs/search', '/health', '/nothing']) {
      for (const [locale, width] of [
        ['de-DE', 360],
        ['en-US', 1200],
      ] as const) {
        const { page } = await browser.open(address + path, {
          locale,
          viewport: { width, height: 800 },
          bypassCSP: true,
        })
        await page.evaluate(axe.source)
        const found = (await page.evaluate('axe.run()')) as { violations: { id: string; nodes: { html: string }[] }[] }
        const told = found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
        assert.deepEqual(told, [], `${path} ${locale}`)
        assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${path} at ${width}`)
        if (process.env.SCREENSHOTS) {
          const name = path.replaceAll('/', '-')
          await page.screenshot({ path: `${process.env.SCREENSHOTS}/page${name}${locale}.png` })
        }
        await page.close()
      }
    }
  })
})
