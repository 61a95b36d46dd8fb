import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { noBrowser, startBrowser, type TestBrowser } from '../support/browser.ts'
import { linkOf, type PostedService, startWithMail } from './account-support.ts'
import { TestVisitor } from './sign-in-browser.ts'
import { createUsers } from './support.ts'

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

test('a newcomer sets a new password, agrees to the terms and is signed in', { skip: noBrowser }, async () => {
  const { svc } = posted
  await createUsers(svc, { user: { login: 'newcomer', require_password_change: true } })
  const en = (text: string) => ({ 'en-US': text })
  const message = { title: en('Terms'), message: en('For research only.'), confirmation: en('I agree') }
  assert.equal((await svc.as('root').post('/message', [{ message }])).status, 200)
  const parameters = new TestVisitor(svc).parameters({ redirect_uri: `${base}/app/callback` })
  const { page, complaints } = await browser.open(`${base}/api/oauth2/auth?${new URLSearchParams(parameters)}`)
  await page.fill('#login', 'newcomer')
  await page.fill('#password', 'newcomer')
  await page.keyboard.press('Enter')
  await page.waitForSelector('#new_password')
  assert.equal(await page.locator('#new_password:focus').count(), 1)
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
  await page.getByRole('button', { name: 'Go on' }).click()
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
