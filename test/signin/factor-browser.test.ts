import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import axe from 'axe-core'
import type { CDPSession, Page } from 'playwright-core'
import { german } from '../../src/signin/pages/texts.de.ts'
import type { TextName } from '../../src/signin/pages/texts.en.ts'
import { noBrowser, startBrowser, type TestBrowser } from '../support/browser.ts'
import type { TestService } from '../support/service.ts'
import { linkOf, type PostedService, startWithMail } from './account-support.ts'
import { codeAt, fromBase32 } from './authenticator.ts'
import { TestVisitor } from './sign-in-browser.ts'
import { createGroups, createUsers } from './support.ts'

/** Passkeys in a real browser, with the authenticator that browsers have for tests. */
let posted: PostedService
let svc: TestService
let browser: TestBrowser
before(async () => {
  if (noBrowser) return
  posted = await startWithMail()
  svc = posted.svc
  const [group] = await createGroups(svc, { group: { name: 'careful' }, _two_fa_required: true })
  const _groups = [{ group: { _id: group.group._id } }]
  await createUsers(
    svc,
    { user: { login: 'ada' }, _groups },
    { user: { login: 'walker', email: 'walker@example.org', require_password_change: true }, _groups },
  )
  browser = await startBrowser({ localhost: await svc.listen() })
})
after(async () => {
  await browser?.[Symbol.asyncDispose]()
  await posted?.[Symbol.asyncDispose]()
})

const signInPage = (): string =>
  `http://localhost:8080/api/oauth2/auth?${new URLSearchParams(new TestVisitor(svc).parameters())}`

interface Device {
  readonly cdp: CDPSession
  readonly authenticatorId: string
}

async function deviceOf(page: Page): Promise<Device> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return { cdp, authenticatorId }
}

async function screenshot(page: Page, name: string): Promise<void> {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png`, fullPage: true })
}

async function typePassword(page: Page): Promise<void> {
  await page.fill('#login', 'ada')
  await page.fill('#password', 'ada')
  await page.keyboard.press('Enter')
}

const codeIn = (page: Page): string | null => new URL(page.url()).searchParams.get('code')

test('a passkey is made, proved behind the password, and signs in alone, under the content security policy', {
  skip: noBrowser,
}, async () => {
  const { page, complaints } = await browser.open(signInPage())
  const { cdp, authenticatorId } = await deviceOf(page)
  await typePassword(page)
  await page.getByRole('link', { name: 'Use a passkey instead' }).click()
  await page.getByLabel('Name of the passkey').fill('laptop')
  await screenshot(page, 'passkey-setup')
  await page.getByRole('button', { name: 'Set up a passkey' }).click()
  await page.getByRole('heading', { name: 'Keep your recovery codes' }).waitFor()
  await screenshot(page, 'recovery-codes')
  await page.getByRole('button', { name: 'I have kept them' }).click()
  await page.waitForURL(/\/app\/callback\?/)
  assert.ok(codeIn(page))

  await page.goto(signInPage())
  await typePassword(page)
  await page.getByRole('button', { name: 'Use a passkey' }).waitFor()
  await screenshot(page, 'passkey-factor')
  await page.keyboard.press('Tab')
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.waitForURL(/\/app\/callback\?/)
  assert.ok(codeIn(page))

  await page.goto(signInPage())
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByRole('heading', { name: 'Sign in with a passkey' }).waitFor()
  await screenshot(page, 'passkey-sign-in')
  // The hand is not the user's: the page stays and says so.
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByRole('alert').waitFor()
  assert.match((await page.getByRole('alert').textContent()) ?? '', /did not work/)
  await screenshot(page, 'passkey-refused')
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.waitForURL(/\/app\/callback\?/)
  assert.ok(codeIn(page))
  const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId })
  assert.deepEqual(
    credentials.map(({ rpId, isResidentCredential }) => [rpId, isResidentCredential]),
    [['localhost', true]],
  )
  const { rows } = await svc.db.query('select name, last_used_at is not null as used from passkey')
  assert.deepEqual(rows, [{ name: 'laptop', used: true }])
  // The address of the client does not exist here.
  assert.deepEqual(
    complaints.filter((text) => !text.includes('400 (Bad Request)')),
    [],
  )
  await page.close()
})

test('without JavaScript a page says that passkeys need it, and leads on', { skip: noBrowser }, async () => {
  const { page } = await browser.open(signInPage(), { javaScriptEnabled: false, viewport: { width: 360, height: 740 } })
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByRole('link', { name: 'Sign in with a password' }).waitFor()
  await screenshot(page, 'passkey-no-script-first')
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  assert.match((await page.getByRole('alert').textContent()) ?? '', /Passkeys need JavaScript/)
  assert.equal(await page.getByText('Passkeys need JavaScript').count(), 1, 'once')
  await screenshot(page, 'passkey-no-script')
  await page.getByRole('link', { name: 'Sign in with a password' }).click()
  await page.getByLabel('Password').waitFor()
  await page.close()
})

/** No rule of accessibility is broken, and nothing stands out of the window. */
async function look(page: Page, name: string): Promise<void> {
  await page.locator('h1').waitFor()
  await screenshot(page, `walk-${name}`)
  await page.evaluate(axe.source)
  const found = (await page.evaluate('axe.run()')) as { violations: { id: string; nodes: { html: string }[] }[] }
  assert.deepEqual(
    found.violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]),
    [],
    name,
  )
  assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${name}: nothing stands out`)
}

test('axe finds nothing on any page of accounts and second factors, in German at the width of a phone', {
  skip: noBrowser,
}, async () => {
  const root = svc.as('root')
  const both = (en: string, de: string) => ({ 'en-US': en, 'de-DE': de })
  const terms = both('For research only.', 'Nur für die Forschung.')
  const config = {
    two_factor: { enabled: true, methods: ['email', 'passkey', 'totp'], allow_password_grant: false },
    registration: { active: true, info: both('Readers are welcome.', 'Lesende sind willkommen.'), terms },
  }
  const set = await root.post('/config', { system: { config } })
  assert.equal(set.status, 200, JSON.stringify(set.body))
  const title = both('Terms', 'Nutzungsbedingungen')
  const message = { title, message: terms, confirmation: both('I agree', 'Ich bin einverstanden') }
  assert.equal((await root.post('/message', [{ message }])).status, 200)
  const settings = { viewport: { width: 360, height: 740 }, colorScheme: 'dark', locale: 'de-DE' } as const
  const { page, complaints } = await browser.open(signInPage().replace('?', '?action=security&'), settings)
  await deviceOf(page)
  const press = (text: TextName) => page.getByRole('button', { name: german[text], exact: true }).click()
  const open = (text: TextName) => page.getByRole('link', { name: german[text], exact: true }).click()
  const heading = (text: TextName) => page.getByRole('heading', { name: german[text] }).waitFor()
  await look(page, 'sign-in')
  await page.fill('#login', 'walker')
  await page.fill('#password', 'walker')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: german['factor.sendMail'] }).waitFor()
  await look(page, 'mail')
  await press('factor.sendMail')
  await page.locator('#code').waitFor()
  await look(page, 'mail-code')
  const mails = async () => (await posted.mailsTo('walker@example.org')).map(({ data }) => data)
  const code = /^(\d{6})$/m.exec((await mails()).at(-1)?.replaceAll('\r', '') ?? '')?.[1] ?? ''
  await page.fill('#code', code)
  await press('factor.submit')
  await page.locator('#new_password').waitFor()
  await look(page, 'set-password')
  await page.fill('#new_password', 'walks on and on')
  await page.fill('#again', 'walks on and on')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: title['de-DE'] }).waitFor()
  await look(page, 'message')
  await page.getByLabel(message.confirmation['de-DE'], { exact: true }).check()
  await press('message.go')
  await heading('security.title')
  await look(page, 'security-empty')
  await open('security.appSetUp')
  const key = fromBase32((await page.locator('#key').textContent()) ?? '')
  await look(page, 'setup-app')
  await page.fill('#code', '1')
  await press('factor.setupSubmit')
  await page.getByRole('alert').waitFor()
  await look(page, 'setup-app-wrong')
  await page.fill('#code', codeAt(key))
  await press('factor.setupSubmit')
  await heading('factor.recoveryTitle')
  await look(page, 'recovery-codes')
  await press('factor.recoverySubmit')
  await open('security.passkeyAdd')
  await look(page, 'setup-passkey')
  await page.fill('#name', 'A passkey with quite a long name, on the third shelf of the room behind')
  await press('passkey.setupSubmit')
  await heading('security.title')
  await look(page, 'security')
  await press('security.go')
  await page.waitForURL(/\/app\/callback\?/)
  await page.goto(signInPage())
  await page.fill('#login', 'walker')
  await page.fill('#password', 'walks on and on')
  await page.keyboard.press('Enter')
  await heading('factor.chooseTitle')
  await look(page, 'choose')
  await open('factor.useTotp')
  await look(page, 'code')
  await open('factor.useRecovery')
  await look(page, 'recovery-code')
  await open('factor.usePasskey')
  await look(page, 'passkey')
  for (const name of ['forgotPassword', 'register', 'confirmEmail', 'resetPassword', 'security?done=1']) {
    await page.goto(`http://localhost:8080/api/page/${name}`)
    await look(page, name.replace('?', '-'))
  }
  await page.goto('http://localhost:8080/api/page/forgotPassword')
  await page.getByLabel(german['login.login']).fill('walker')
  await page.keyboard.press('Enter')
  await heading('forgotPassword.sentTitle')
  await look(page, 'sent')
  await page.goto(`http://localhost:8080${linkOf((await posted.mailsTo('walker@example.org')).at(-1))}`)
  await look(page, 'reset-password')
  await page.goto(signInPage())
  await press('passkey.signIn')
  await heading('passkey.signIn')
  await look(page, 'passkey-alone')
  await page.goto(signInPage().replace('web-client', 'unknown'))
  await heading('error.title')
  await look(page, 'error')
  await page.goto(signInPage())
  await page.fill('#login', 'walker')
  await page.fill('#password', 'wrong')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  await look(page, 'sign-in-wrong')
  await page.goto('http://localhost:8080/logout')
  await heading('signedOut.title')
  await look(page, 'signed-out')
  assert.deepEqual(
    complaints.filter((text) => !text.includes('400 (Bad Request)')),
    [],
  )
  await page.close()
})
