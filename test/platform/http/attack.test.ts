import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, suite, test } from 'node:test'
import { heapFlags } from '../../../bin/memory.js'
import { preparedFolder } from '../../support/prepared-folder.ts'
import { type ServiceProcess, spawnService } from '../../support/process.ts'
import { sendRaw } from '../../support/raw.ts'

const password = 'root-test-password'
/** Bytes; as values they would take many times that. */
const much = 30_000_000

/** The service in a process of its own, as bin/strongroom.js starts it: its heap has an end. */
suite('a process with the flags of the command line survives', () => {
  let folder: Awaited<ReturnType<typeof preparedFolder>>
  let service: ServiceProcess
  let headers: Record<string, string>
  before(async () => {
    folder = await preparedFolder()
    service = await spawnService(folder.path, { SVC_ROOT_PASSWORD: password }, heapFlags())
    headers = { 'content-type': 'application/json', authorization: `Bearer ${await tokenOf(service.url)}` }
  })
  after(async () => {
    await service[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  })

  async function survives(): Promise<void> {
    assert.equal((await fetch(`${service.url}/api/v1/user/session`, { headers })).status, 200)
    assert.equal(service.child.exitCode, null)
    const peak = await peakMegabytes(service)
    assert.ok(peak < 700, `${peak} MB at the most`)
  }

  const flood = (start: string, unit: string, bytes = much): Buffer =>
    Buffer.concat([Buffer.from(start), Buffer.alloc(bytes, unit)])

  test('many values to an address that does not exist, without a token', async () => {
    const body = flood('[', '{},')
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => fetch(`${service.url}/${n % 2 ? 'api/v1/' : ''}no/such/thing`, init)),
    )
    assert.deepEqual(
      answers.map(({ status }) => status),
      answers.map(() => 400),
    )
    await survives()
  })

  test('many values to every endpoint for objects, with a token', async () => {
    const units = ['{},', '[],', '0,', '"",', '{"":[]},', '[[[]]],']
    const answers = await Promise.all(
      units.map(async (unit) => {
        const body = flood('[', unit)
        return (await fetch(`${service.url}/api/v1/db/artwork`, { method: 'POST', headers, body })).status
      }),
    )
    for (const status of answers) assert.ok(status === 413 || status === 400 || status === 503, String(status))
    await survives()
  })

  test('depth, and texts and keys without end', async () => {
    for (const [start, unit] of [
      ['[', '['],
      ['{"a":', '{"a":'],
      ['["', 'x'],
      ['{"', 'x'],
      ['[', '1'],
      ['', ' '],
    ] as const) {
      const body = flood(start, unit, much / 10)
      const answer = await fetch(`${service.url}/api/v1/db/artwork`, { method: 'POST', headers, body })
      assert.equal(answer.status, 400, start)
    }
    await survives()
  })

  test('bodies that are begun and never ended, beside one that is', async () => {
    const port = Number(new URL(service.url).port)
    const begun = Array.from({ length: 100 }, () =>
      sendRaw({
        port,
        path: '/api/v1/event',
        headers: { ...headers, 'content-length': 1_000_000 },
        body: '{"event":{',
      }),
    )
    const body = JSON.stringify(Array.from({ length: 10_000 }, (_, n) => ({ _id: n, text: 'x'.repeat(1000) })))
    const answer = await fetch(`${service.url}/api/v1/db/artwork`, { method: 'POST', headers, body })
    assert.equal(answer.status, 400)
    for (const { socket } of begun) socket.destroy()
    await survives()
  })
})

async function tokenOf(url: string): Promise<string> {
  const form = { grant_type: 'password', client_id: 'web-client', username: 'root', password }
  const answer = await fetch(`${url}/api/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
  return ((await answer.json()) as { access_token: string }).access_token
}

/** The most memory that the process has had; 0 where the system does not tell. */
async function peakMegabytes({ child }: ServiceProcess): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024
}
