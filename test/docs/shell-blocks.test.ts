import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, suite, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { createServiceClient } from '../../src/import/client.ts'
import { ensureDatamodel, ensurePool } from '../../src/import/tate/setup.ts'
import { ofService } from '../signin/directories/certificates.ts'
import { pageText } from '../support/documented.ts'
import { startService, type TestService } from '../support/service.ts'

/**
 * Shell blocks of pages, typed one after the other as a reader types them, against a service with the datamodel of the demo. Each
 * request is answered with 200 or as said here, and a result that stands behind a command as a comment is what it prints.
 */
interface Page {
  /** The beginnings of the blocks that are typed; without it all of the page. */
  readonly blocks?: readonly string[]
  /** Whether the functions at the beginning of administration.md are used. */
  readonly withFunctions?: true
  /** Requests that are not answered with 200, as the page says so, or names what the reader has: `<status> <address>`. */
  readonly otherwise?: readonly string[]
  readonly needs?: readonly string[]
}

/** In the order in which they are typed: one service has them all. */
const pages: Readonly<Record<string, Page>> = {
  '../README.md': { blocks: ['BASE=', 'TOKEN=', 'cat > /tmp/book.json', 'curl -s "$BASE/api/v1/db/book'] },
  'api.md': { withFunctions: true, blocks: ['BASE='] },
  'administration.md': { otherwise: ['401 /api/v1/user/session'] },
  'exports.md': { withFunctions: true, blocks: ['curl -X POST $BASE/api/v1/export '] },
  'page-texts.md': { withFunctions: true, needs: ['jq'] },
  'operations.md': {
    blocks: [
      'SVC=',
      // Nothing runs that could be stopped.
      'api "$SVC/api/v1/task"',
      'api "$SVC/api/v1/system/status"',
      'api "$SVC/api/v1/system/sendmail',
      'api "$SVC/api/v1/event/list?type=OBJECT_DELETE',
    ],
    otherwise: ['404 /api/v1/task/1/cancel', '400 /api/v1/export/1/stop', '400 /api/v1/system/sendmail/test'],
    needs: ['jq'],
  },
  'tasks.md': { withFunctions: true },
  // Last, since it configures directories that nobody reaches.
  'directories.md': { withFunctions: true },
}

/** Lines for which these tests have no place: commands of the service, its backend port, packages. */
const elsewhere = /^(?:strongroom|npm|npx|node bin|curl --silent "\$BACKEND)/

/** A command of one line whose result stands behind it; a status is looked for among the requests. */
const withResult = /^((?:get|post|curl) .*\S)\s+# (\d{1,2}|true|false|\[[^…]*\])$/

const blocksOf = (page: string): string[] =>
  [...pageText(page).matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = '']) => block)

function typed(page: string, { blocks, withFunctions }: Page): string {
  const own = blocksOf(page)
  const wanted = blocks?.map((begin) => own.find((block) => block.startsWith(begin)) ?? assert.fail(begin)) ?? own
  return [...(withFunctions ? blocksOf('administration.md').slice(0, 2) : []), ...wanted].join('\n')
}

/** The script of a page, and the results that it is to print. */
function scriptOf(text: string, base: string, password: string): { script: string; results: string[] } {
  const results: string[] = []
  const lines = text.split('\n').map((line) => {
    if (elsewhere.test(line)) return ''
    if (line.startsWith('BASE=')) return `BASE=${base}`
    if (line.startsWith('PASSWORD=')) return `PASSWORD='${password}'`
    if (line.startsWith('SVC=')) return `SVC=${base} PASSWORD='${password}'`
    const [, command, result = ''] = withResult.exec(line) ?? []
    if (command === undefined) return line.replaceAll('/tmp/', '')
    results.push(result)
    return `echo; echo '##'; ${command}; echo; echo '##'`
  })
  // Tells each request on standard error, within a pipe too.
  const telling = `curl() { command curl --write-out '%{stderr}\\n@@%{http_code} %{url_effective}\\n' "$@"; }`
  return { script: ['set -u', telling, ...lines, 'true'].join('\n'), results }
}

const isThere = (program: string): boolean => spawnSync(program, ['--version']).error === undefined

suite('shell blocks of the documentation', () => {
  let svc: TestService
  let base: string
  let folder: string
  const password = (): string => svc.config.rootPassword ?? ''
  before(async () => {
    svc = await startService()
    base = await svc.listen()
    const client = createServiceClient({ url: base, login: 'root', password: password() })
    await ensureDatamodel(client)
    await ensurePool(client)
    await svc.drain()
    folder = await mkdtemp(join(tmpdir(), 'typed-'))
    await writeFile(join(folder, 'cert.pem'), ofService.cert)
    await writeFile(join(folder, 'key.pem'), ofService.key)
  })
  after(async () => {
    await svc[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  for (const [page, settings] of Object.entries(pages)) {
    test(`the commands of ${page} do what the page says`, async (t: TestContext) => {
      const missing = ['bash', 'curl', ...(settings.needs ?? [])].filter((program) => !isThere(program))
      if (missing.length > 0) return t.skip(`${missing} not there`)
      const { script, results } = scriptOf(typed(page, settings), base, password())
      const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` }
      const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script], { cwd: folder, env })
      const said = `${stdout}\n${stderr}`.slice(-5000)
      const requests = [...stderr.matchAll(/^@@(\d+) \w+:\/\/[^/]+(\S+)$/gm)].map(([, status, at]) => `${status} ${at}`)
      assert.ok(requests.some((request) => request.startsWith('200 ')))
      const others = requests.filter((request) => !request.startsWith('200 '))
      assert.deepEqual(others, settings.otherwise ?? [], said)
      const printed = stdout.split(/^##$/m).filter((_, index) => index % 2 === 1)
      assert.deepEqual(
        printed.map((text) => text.trim()),
        results,
        said,
      )
    })
  }
})
