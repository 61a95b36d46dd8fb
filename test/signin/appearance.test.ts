import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { upload } from '../files/support.ts'
import { startService, type TestService } from '../support/service.ts'
import { TestVisitor } from './sign-in-browser.ts'

let svc: TestService
before(async () => {
  svc = await startService()
})
after(() => svc[Symbol.asyncDispose]())

test('logo, icon and background of the pages are files, as clients send them', async () => {
  const root = svc.as('root')
  const put = async (name: string, content: Buffer): Promise<number> => {
    const answer = await upload(svc, 'root', [{ name, content }])
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body[0]._id
  }
  const png = Buffer.from('89504e470d0a1a0a', 'hex')
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg"/>'
  const [logo, icon, behind, words] = await Promise.all([
    put('logo.bin', Buffer.concat([png, Buffer.from('logo')])),
    put('icon.svg', Buffer.from(drawing)),
    put('back.jpg', Buffer.from('ffd8ff00', 'hex')),
    put('words.txt', Buffer.from('no picture')),
  ])
  const appearance = {
    logo: { _id: logo, frontend_prefs: { shown: true } },
    logo_external_url: { 'en-US': 'https://museum.example/' },
    favicon: { _id: icon },
    login_background: { _id: behind },
    tag_colors: [{ tag_color: '#ff0000' }],
    tag_icons: [{ 'fa-icon': 'fa-leaf' }],
    welcome_splash: 'off',
  }
  const saved = await root.post('/config', { system: { config: { appearance } } })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const shown = saved.body.system.config.appearance
  assert.deepEqual(shown, { ...appearance, brand_color: '', background_color: '' })
  const { body, headers } = await new TestVisitor(svc).authorize()
  assert.ok(body.includes(`<a href="https://museum.example/"><img class="logo" src="data:image/png;base64,`), body)
  assert.ok(body.includes(`<link rel="icon" href="data:image/svg+xml;base64,`), body)
  assert.ok(body.includes('background: url("data:image/jpeg;base64,/9j/AA==") center'), body)
  assert.match(String(headers['content-security-policy']), /img-src 'self' data:;style-src 'sha256-/)
  // Sent back, it stays as it is.
  assert.equal((await root.post('/config', { system: { config: { appearance: shown } } })).status, 200)
  assert.equal((await new TestVisitor(svc).authorize()).body.includes('data:image/jpeg;base64,/9j/'), true)

  const large = await put('large.png', Buffer.concat([png, Buffer.alloc(46_000)]))
  for (const [member, value, why] of [
    ['logo', { _id: words }, /a picture: PNG/],
    ['logo', { _id: large }, /at most 45000 bytes/],
    ['favicon', { _id: words }, /a picture: PNG/],
    ['favicon', { _id: 999_999 }, /no file 999999/],
    ['login_background', 'data:image/png;base64,AAAA', /an object/],
    ['logo_external_url', { 'en-US': 'javascript:alert(1)' }, /an absolute http or https URL/],
    ['tag_icons', [{ 'fa-icon': '<b>' }], /the name of an icon/],
    ['tag_colors', [{ tag_color: 'red' }], /a colour/],
    ['welcome_splash', 'on', /one of svc, custom_logo, off/],
  ] as const) {
    const { status, body: refused } = await root.post(`/config/system/config/appearance/${member}`, value)
    assert.equal(status, 400, member)
    assert.match(refused.message, why)
    assert.ok(refused.parameters.path.startsWith(`system/config/appearance/${member}`), refused.parameters.path)
  }
  assert.deepEqual((await root.get('/config')).body.system.config.appearance, shown)
  assert.equal((await root.delete('/config/system/config/appearance')).status, 200)
  assert.ok((await new TestVisitor(svc).authorize()).body.includes('/favicon.svg'))
})

test('whether the sign-in page leads to a new password is for the configuration to say', async () => {
  const root = svc.as('root')
  const set = (path: string, value: unknown) => root.post(`/config/system/config/${path}`, value)
  assert.equal((await set('email_server/server_addr', 'mail.example:25')).status, 200)
  assert.equal((await set('email/from', 'museum@example.org')).status, 200)
  const leads = async () => (await new TestVisitor(svc).authorize()).body.includes('/api/page/forgotPassword')
  assert.equal(await leads(), true)
  assert.equal((await set('password/showforgot', false)).status, 200)
  assert.equal(await leads(), false)
  for (const section of ['email_server', 'email', 'password']) await root.delete(`/config/system/config/${section}`)
})
