import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { createLog } from '../../../src/platform/process/log.ts'
import { createSeal } from '../../../src/platform/secrets/seal.ts'
import { createSealedTexts, LockedSecret, opened } from '../../../src/platform/secrets/sealed-texts.ts'
import { withoutSecrets } from '../../../src/platform/secrets/secret-forms.ts'
import { isSecretName, scrubbed, scrubPath, scrubText } from '../../../src/platform/secrets/secrets.ts'

const word = 'Qz7-planted_Secret.0042'
const signature = `abc123-${'x1_-'.repeat(8)}`

suite('what is secret', () => {
  test('shapes that give a secret away: it is taken out, and nothing else', () => {
    const cases: [text: string, expected: string][] = [
      [`https://user:${word}@host.org/a?b=c`, 'https://***@host.org/a?b=c'],
      [`connect to ldaps://${word}@host failed`, 'connect to ldaps://***@host failed'],
      [`postgres://u:p@ss${word}@h/db`, 'postgres://***@h/db'],
      [`/api/v1/search?access_token=${word}&pretty=1`, '/api/v1/search?access_token=***&pretty=1'],
      [
        `https://h.org/?X-Amz-Signature=${word}&x-svc-signature=${word}`,
        'https://h.org/?X-Amz-Signature=***&x-svc-signature=***',
      ],
      [`https://h.org/?k%65y=${word}&code=${word}`, 'https://h.org/?k%65y=***&code=***'],
      [`grant_type=password&password=${word}&username=anna`, 'grant_type=password&password=***&username=anna'],
      [`Authorization: Basic ${word}`, 'Authorization: ***'],
      [`X-Svc-Authorization: Bearer ${word}\r\nHost: a`, 'X-Svc-Authorization: ***\r\nHost: a'],
      [`sent with Bearer ${word}`, 'sent with Bearer ***'],
      [`Basic ${Buffer.from(`u:${word}`).toString('base64')}`, 'Basic ***'],
      [
        `{"name":"a","client_secret":"${word}\\"x","pin_password":123456}`,
        '{"name":"a","client_secret":"***","pin_password":"***"}',
      ],
      [`{"body":"{\\"access_token\\":\\"${word}\\"}"}`, '{"body":"{\\"access_token\\":\\"***\\"}"}'],
      [`a -----BEGIN RSA PRIVATE KEY-----\n${word}\n-----END RSA PRIVATE KEY----- b`, 'a -----PRIVATE KEY ***----- b'],
      [
        `/api/v1/eas/zoom/1/ff/${signature}/original/zoom1/part0x0.jpg`,
        '/api/v1/eas/zoom/1/ff/***/original/zoom1/part0x0.jpg',
      ],
    ]
    for (const [text, expected] of cases) {
      assert.equal(scrubText(text), expected)
      assert.equal(scrubText(expected), expected, 'once is enough')
    }
    for (const plain of [
      'Basic authentication is off',
      'program ended with code=1',
      'mail to anna@example.org',
      '1f9b4a0c-4c52-4c54-8f3e-1d3c4f3f9b1a',
      '/api/v1/db/book/_all_fields/1?version=2',
      '{"token_type":"Bearer","key":"value"}',
    ]) {
      assert.equal(scrubText(plain), plain)
    }
  })

  test('names of headers, parameters and members in any spelling', () => {
    for (const name of [
      'Authorization',
      'X-Museum-Authorization',
      'set-cookie',
      '_password',
      'clientSecret',
      'x-svc-signature',
    ])
      assert.ok(isSecretName(name), name)
    for (const name of ['token_type', 'login', 'key', 'secretary', 'path']) assert.ok(!isSecretName(name), name)
  })

  test('a signature in a path is not logged, however it is spelt', () => {
    const path = `/api/v1/eas/iiif/7/ff/${signature}/original/info.json`
    assert.equal(scrubPath(path), '/api/v1/eas/iiif/7/ff/***/original/info.json')
    assert.ok(!scrubPath(path.replace('abc123-', 'abc123%2D')).includes('x1_-'))
    for (const other of ['/api/v1/pool', '/api/v1/db/a%20b', '/%E0%A4%A']) assert.equal(scrubPath(other), other)
  })

  test('members of JSON: names, values and texts within; what has none is the same value', () => {
    const date = new Date()
    const value = { a: [1, { password: word, url: `https://u:${word}@h` }], pin_password: 4711, at: date }
    assert.deepEqual(scrubbed(value), {
      a: [1, { password: '***', url: 'https://***@h' }],
      pin_password: '***',
      at: date,
    })
    const clean = { a: [1, { b: 'x' }], token: null, password: '' }
    assert.equal(scrubbed(clean), clean)
  })

  test('a known secret goes in whatever form it is written, wherever it stands', () => {
    const secret = fc
      .string({ minLength: 8, maxLength: 60, unit: 'grapheme' })
      .filter((text) => text.isWellFormed() && text.trim().length >= 8)
    fc.assert(
      fc.property(secret, fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }), (one, before, after) => {
        const clean = withoutSecrets([one])
        const middle = Buffer.from(before + one + after)
        const forms = [
          before + one + after,
          `${before}${encodeURIComponent(one)}${after}`,
          JSON.stringify({ x: before + one + after }),
          Buffer.from(one).toString('hex'),
        ]
        for (const form of forms) assert.ok(clean(form).includes('***'), form)
        for (const encoding of ['base64', 'base64url'] as const) {
          const sent = middle.toString(encoding)
          const answered = clean(sent)
          assert.notEqual(answered, sent)
          assert.ok(!Buffer.from(answered.replaceAll('***', ''), encoding).includes(one))
        }
      }),
    )
  })

  test('lines of the log stay JSON, at any depth, for errors with all that hangs on them', () => {
    const lines: string[] = []
    const stream = new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk))
        done()
      },
    })
    const log = createLog({ logLevel: 'info' }, stream)
    const error = Object.assign(new Error(`refused https://u:${word}@h/`), {
      config: { a: { b: { c: { headers: { Authorization: `Bearer ${word}` }, refresh_token: word } } } },
    })
    log.error({ err: error }, `failed with {"password":"${word}"}`)
    log.child({ client_secret: word }).warn({ deep: [{ deeper: { cookie: word } }] }, 'child')
    assert.equal(lines.length, 2)
    for (const line of lines) {
      assert.ok(JSON.parse(line))
      assert.ok(!line.includes(word), line)
    }
  })
})

suite('sealed texts', () => {
  const seal = (secretKey: string) =>
    createSealedTexts(createSeal({ dataDir: '/nowhere', secretKey, secretKeyBefore: null }))

  test('one that no key here opens is locked: it is stored as it was, says so when it is used, and opens with its key', async () => {
    const [present, other] = [seal('k'.repeat(32)), seal('l'.repeat(32))]
    const stored = await present.seal(word, 'a', '***')
    assert.ok(!JSON.stringify(stored).includes(word))
    const locked = await other.open(stored, 'a')
    assert.ok(locked instanceof LockedSecret)
    assert.throws(() => opened(locked, 'The password'), /The password is sealed with a key that is not here/)
    assert.deepEqual(await other.seal(locked, 'a', '***'), stored)
    assert.equal(await present.open(stored, 'a'), word)
    assert.ok((await present.open(stored, 'b')) instanceof LockedSecret, 'it belongs to one place')
    assert.deepEqual(
      [await present.isPresent(stored), await other.isPresent(stored), await present.isPresent(word)],
      [true, false, false],
    )
    assert.equal(await present.open('as it is', 'a'), 'as it is')
  })
})
