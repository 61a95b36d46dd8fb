import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { CDPSession, Page } from 'playwright-core'
import { noBrowser, startBrowser, type TestBrowser } from '../support/browser.ts'
import { startService, type TestService } from '../support/service.ts'
import { TestVisitor } from './sign-in-browser.ts'
import { createGroups, createUsers } from './support.ts'

/** Passkeys in a real browser, with the authenticator that browsers have for tests. */
let svc: TestService
let browser: TestBrowser
before(async () => {
  if (noBrowser) return
  svc = await startService()
  const [group] = await createGroups(svc, { group: { name: 'careful' }, _two_fa_required: true })
  await createUsers(svc, { user: { login: 'ada' }, _groups: [{ group: { _id: group.group._id } }] })
  browser = await startBrowser({ localhost: await svc.listen() })
})
after(async () => {
  await browser?.[Symbol.asyncDispose]()
  await svc?.[Symbol.asyncDispose]()
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
  assert.match((await page.getByRole('alert').first().textContent()) ?? '', /Passkeys need JavaScript/)
  await screenshot(page, 'passkey-no-script')
  await page.getByRole('link', { name: 'Sign in with a password' }).click()
  await page.getByLabel('Password').waitFor()
  await page.close()
})
