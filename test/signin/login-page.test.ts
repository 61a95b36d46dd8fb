import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { noBrowser, startBrowser, type TestBrowser } from '../support/browser.ts'
import { startService, type TestService } from '../support/service.ts'
import { TestVisitor } from './sign-in-browser.ts'
import { createUsers } from './support.ts'

suite('the sign-in page in a browser', { skip: noBrowser }, () => {
  let svc: TestService
  let browser: TestBrowser
  let origin: string
  before(async () => {
    svc = await startService()
    origin = await svc.listen()
    await createUsers(svc, { user: { login: 'anna' } })
    const config = { login: { guest: true, keep_login: '30d' }, name: { title: 'House of Pictures' } }
    const set = await svc.as('root').post('/config', { system: { config } })
    assert.equal(set.status, 200, JSON.stringify(set.body))
    browser = await startBrowser()
  })
  after(async () => {
    await browser[Symbol.asyncDispose]()
    await svc[Symbol.asyncDispose]()
  })

  const address = (visitor: TestVisitor): string =>
    `${origin}/api/oauth2/auth?${new URLSearchParams(
      visitor.parameters({ redirect_uri: `${origin}/app/callback`, auth_method: 'native', scope: 'offline' }),
    )}`

  async function screenshot(page: Page, name: string): Promise<void> {
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png` })
  }

  test('somebody signs in by keyboard, without JavaScript, and stays signed in', async () => {
    const visitor = new TestVisitor(svc)
    const settings = { javaScriptEnabled: false, viewport: { width: 360, height: 740 } }
    const { page, complaints } = await browser.open(address(visitor), settings)
    assert.equal(await page.title(), 'Sign in · House of Pictures')
    await screenshot(page, 'sign-in-phone')
    await page.keyboard.type('anna')
    await page.keyboard.press('Tab')
    await page.keyboard.type('wrong')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    assert.match((await page.getByRole('alert').textContent()) ?? '', /login or the password is wrong/)
    assert.equal(await page.getByLabel('Login or e-mail address').inputValue(), 'anna')
    await screenshot(page, 'sign-in-wrong')
    await page.keyboard.type('anna')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${origin}/app/callback?**`)
    const code = new URL(page.url()).searchParams.get('code') ?? ''
    const cookies = await page.context().cookies(origin)
    for (const name of ['svc-browser-id', 'svc-keep-login']) {
      const cookie = cookies.find((one) => one.name === name)
      assert.deepEqual([cookie?.httpOnly, cookie?.sameSite, cookie?.path], [true, 'Lax', '/'], name)
    }
    for (const { name, value } of cookies) visitor.cookies.set(name, value)
    const { status, body } = await visitor.redeem(code, { redirect_uri: `${origin}/app/callback` })
    assert.deepEqual([status, typeof body.refresh_token], [200, 'string'])
    await page.goto(address(visitor))
    assert.equal(new URL(page.url()).pathname, '/app/callback', 'without asking again')
    await page.goto(`${origin}/logout`)
    await page.getByRole('heading', { name: 'Signed out' }).waitFor()
    await page.goto(address(visitor))
    await page.getByLabel('Password').waitFor()
    // The address of the client does not exist here.
    assert.deepEqual(
      complaints.filter((text) => !text.includes('400 (Bad Request)')),
      [],
    )
    await page.close()
  })

  test('axe finds nothing on any page, in light and dark, in either language, with an error and without', async () => {
    const visitor = new TestVisitor(svc)
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const locale of ['en-US', 'de-DE']) {
        const { page, complaints } = await browser.open(address(visitor), { colorScheme, locale })
        await look(page, `sign-in-${colorScheme}-${locale}`)
        await page.fill('#login', 'anna')
        await page.fill('#password', 'wrong')
        await page.keyboard.press('Enter')
        await page.getByRole('alert').waitFor()
        await look(page, `sign-in-wrong-${colorScheme}-${locale}`)
        await page.goto(`${origin}/logout`)
        await look(page, `signed-out-${colorScheme}-${locale}`)
        assert.deepEqual(complaints, [])
        await page.goto(`${origin}/api/oauth2/auth?client_id=nobody`)
        await look(page, `error-${colorScheme}-${locale}`)
        await page.close()
      }
    }
  })

  async function look(page: Page, name: string): Promise<void> {
    await screenshot(page, name)
    await page.evaluate(axe.source)
    const found = (await page.evaluate('axe.run()')) as { violations: { id: string; nodes: { html: string }[] }[] }
    assert.deepEqual(
      found.violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]),
      [],
      name,
    )
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${name}: nothing stands out`)
  }
})
