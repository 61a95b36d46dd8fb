import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { picture, upload } from '../files/support.ts'
import { startService, type TestService } from '../support/service.ts'
import { consoleCookie, consoleOf, formFor } from './support.ts'

suite('files in the console', () => {
  let svc: TestService
  let root: ReturnType<typeof consoleOf>
  before(async () => {
    svc = await startService()
    root = consoleOf(svc, await consoleCookie(svc))
  })
  after(() => svc[Symbol.asyncDispose]())

  interface Files {
    readonly Files: {
      readonly id: number
      readonly filename: string
      readonly fixity: string
      readonly class: string
    }[]
    readonly Next: number | null
  }

  test('files are found by name, class and ids, and their contents are read on request', async () => {
    const content = await picture()
    const sent = [
      { name: 'one.jpg', content },
      { name: 'two <b>.jpg', content: await picture() },
    ]
    const uploaded = await upload(svc, 'root', sent)
    const [one, two] = uploaded.body.map(({ _id }: { _id: number }) => _id)
    const found = async (query: string) =>
      ((await root.json(`/files/?${query}`)) as unknown as Files).Files.map(({ id }) => id)
    assert.deepEqual(await found(''), [two, one])
    assert.deepEqual(await found('search=ONE'), [one])
    assert.deepEqual(await found(`ids=${one}`), [one])
    assert.deepEqual(await found('class=video'), [])
    assert.deepEqual(await found('state=failed'), [])
    assert.deepEqual(await found('limit=1&offset=1'), [one])
    const list = await root.html('/files/')
    assert.match(list.body, /two &#60;b&#62;\.jpg/)
    const verified = await root.post(`/files/${one}/`, formFor((await root.html(`/files/${one}/`)).body, 'verify'))
    assert.match(String(verified.headers.location), /done=done\.verify$/)
    const { Versions } = (await root.json(`/files/${one}/`)) as { Versions: { name: string; sha256: string }[] }
    const [{ sha256 = '' } = {}] = Versions
    const blobs = await readdir(join(svc.config.dataDir, 'files'), { recursive: true })
    const blob = blobs.find((name) => name.endsWith(sha256)) ?? assert.fail(`${blobs}`)
    await rm(join(svc.config.dataDir, 'files', blob))
    const harmed = await root.post(`/files/${one}/`, formFor((await root.html(`/files/${one}/`)).body, 'verify'))
    assert.match(String(harmed.headers.location), /done=done\.verify\.bad$/)
    assert.match((await root.html(`/files/${one}/?done=done.verify.bad`)).body, /damaged or missing/)
    const { Fixity } = (await root.json('/locations/')) as { Fixity: { contents: { hash: string; fixity: string }[] } }
    assert.deepEqual(
      Fixity.contents.map(({ hash, fixity }) => [hash, fixity]),
      [[sha256, 'missing']],
    )
    const resync = await root.post('/files/', formFor(list.body, 'resync'))
    assert.equal(resync.statusCode, 303)
    await svc.drain()
    const { Resyncs } = (await root.json('/files/')) as { Resyncs: { checked: number; finishedAt: string | null }[] }
    assert.deepEqual(
      Resyncs.map(({ checked, finishedAt }) => [checked, finishedAt !== null]),
      [[2, true]],
    )
  })
})
