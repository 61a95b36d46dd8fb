import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { noBrowser, startBrowser, type TestBrowser } from '../support/browser.ts'
import { linkOf, type PostedService, startWithMail } from './account-support.ts'
import { codeAt, fromBase32 } from './authenticator.ts'
import { TestVisitor } from './sign-in-browser.ts'
import { createGroups, createUsers } from './support.ts'

/** What belongs to an account, in a real browser: by keyboard, and without a complaint about scripts or policies. */
let posted: PostedService
let browser: TestBrowser
let base: string
before(async () => {
  if (noBrowser) return
  posted = await startWithMail()
  base = await posted.svc.listen()
  browser = await startBrowser()
})
after(async () => {
  await browser?.[Symbol.asyncDispose]()
  await posted?.[Symbol.asyncDispose]()
})

/** `SCREENSHOTS=/tmp/pages` keeps what the browser showed. */
async function screenshot(page: Page, name: string): Promise<void> {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png`, fullPage: true })
}

/** Tabs on to what has this text and presses it: nobody touches a mouse. */
async function press(page: Page, text: string): Promise<void> {
  for (let tabs = 0; tabs < 20; tabs++) {
    const focused = await page
      .locator(':focus')
      .first()
      .textContent({ timeout: 1000 })
      .catch(() => null)
    if (focused?.trim() === text) return page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
  }
  throw new Error(`${text} is not reached by keyboard`)
}

test('a newcomer signs in with a second factor, by keyboard alone: sets up an app, a new password, agrees to the terms; the next time the code does', {
  skip: noBrowser,
}, async () => {
  const { svc } = posted
  const [group] = await createGroups(svc, { group: { name: 'careful' }, _two_fa_required: true })
  const _groups = [{ group: { _id: group.group._id } }]
  await createUsers(svc, { user: { login: 'newcomer', require_password_change: true }, _groups })
  const en = (text: string) => ({ 'en-US': text })
  const message = { title: en('Terms'), message: en('For research only.'), confirmation: en('I agree') }
  assert.equal((await svc.as('root').post('/message', [{ message }])).status, 200)
  const parameters = new TestVisitor(svc).parameters({ redirect_uri: `${base}/app/callback` })
  const { page, complaints } = await browser.open(`${base}/api/oauth2/auth?${new URLSearchParams(parameters)}`)
  await page.fill('#login', 'newcomer')
  await page.fill('#password', 'newcomer')
  await page.keyboard.press('Enter')
  await page.waitForSelector('#key')
  await screenshot(page, 'newcomer-1-app')
  await page.locator('#code:focus').waitFor()
  const key = fromBase32((await page.locator('#key').textContent()) ?? '')
  await page.keyboard.type(codeAt(key))
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Keep your recovery codes' }).waitFor()
  await screenshot(page, 'newcomer-2-recovery-codes')
  await press(page, 'I have kept them')
  await page.waitForSelector('#new_password')
  await screenshot(page, 'newcomer-3-password')
  await page.locator('#new_password:focus').waitFor()
  await page.keyboard.type('one')
  await page.keyboard.press('Tab')
  await page.keyboard.type('another')
  await page.keyboard.press('Enter')
  assert.equal(await page.textContent('[role=alert]'), 'The two passwords are not the same.')
  await page.fill('#new_password', 'three good words')
  await page.fill('#again', 'three good words')
  await page.keyboard.press('Enter')
  await page.waitForSelector('h2')
  assert.equal(await page.textContent('h2'), 'Terms')
  const box = page.getByLabel('I agree', { exact: true })
  await box.focus()
  await page.keyboard.press('Space')
  assert.ok(await box.isChecked())
  assert.deepEqual(complaints, [])
  await screenshot(page, 'newcomer-4-terms')
  await press(page, 'Go on')
  await page.waitForURL(/\/app\/callback\?/)
  assert.ok(new URL(page.url()).searchParams.get('code'))

  await page.goto(`${base}/api/oauth2/auth?${new URLSearchParams(parameters)}`)
  await page.locator('#login:focus').waitFor()
  await page.keyboard.type('newcomer')
  await page.keyboard.press('Tab')
  await page.keyboard.type('three good words')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Second step' }).waitFor()
  await screenshot(page, 'newcomer-5-code')
  await page.locator('#code:focus').waitFor()
  // The one before is used up; clocks may differ by a step.
  await page.keyboard.type(codeAt(key, 1))
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/app\/callback\?/)
  assert.ok(new URL(page.url()).searchParams.get('code'))
})

test('a forgotten password: from the sign-in page to the mail and back', { skip: noBrowser }, async () => {
  const { svc, mailsTo } = posted
  await createUsers(svc, { user: { login: 'forgetful', email: 'forgetful@example.org' } })
  const { page, complaints } = await browser.open(`${base}/api/page/forgotPassword`)
  await page.getByLabel('Login or e-mail address').fill('forgetful')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Look into your mail' }).waitFor()
  await page.goto(base + linkOf((await mailsTo('forgetful@example.org'))[0]))
  await page.getByLabel('New password', { exact: true }).fill('found again')
  await page.getByLabel('New password once more').fill('found again')
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByRole('heading', { name: 'Password set' }).waitFor()
  assert.deepEqual(complaints, [])
})
