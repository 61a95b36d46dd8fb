import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startService } from '../../support/service.ts'
import { sheetFolder } from './files.ts'

const root = join(import.meta.dirname, '..', '..', '..')

interface Step {
  readonly script: string
  /** Lines that it prints, in their order, as far as the page shows them. */
  readonly shown: readonly string[]
}

/** The commands of the section with what the page says that they print. */
async function stepsOf(page: string): Promise<Step[]> {
  const text = await readFile(join(root, 'docs', page), 'utf8')
  const section = /\n## Try it\n([\s\S]*?)\n## /.exec(text)?.[1] ?? ''
  const blocks = [...section.matchAll(/```(sh)?\n([\s\S]*?)```/g)].map(([, kind, content = '']) => ({ kind, content }))
  return blocks.flatMap(({ kind, content }, index) => {
    if (kind !== 'sh') return []
    const next = blocks[index + 1]
    return [
      {
        script: content,
        shown: next && next.kind !== 'sh' ? next.content.split('\n').filter((line) => line !== '') : [],
      },
    ]
  })
}

test('the page on spreadsheets works word by word', async () => {
  await using svc = await startService()
  await using folder = await sheetFolder()
  const url = await svc.listen()
  const place = join(folder.path, 'museum')
  const here = (text: string): string => text.replaceAll('/tmp/museum', place)
  const steps = await stepsOf('import-spreadsheet.md')
  assert.ok(steps.length >= 6)
  const script = steps
    .map((step) => `echo '=== next ==='\n${here(step.script)}`)
    .join('\n')
    .replace(/^BASE=.*$/m, `BASE=${url}`)
    .replace(/^export SVC_ROOT_PASSWORD=.*$/m, `export SVC_ROOT_PASSWORD='${svc.config.rootPassword}'`)
  // Without this the commands would report to the test runner.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const shell = spawn('sh', ['-c', script], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const [code] = await once(shell, 'close')
  assert.equal(code, 0, output)
  const printed = output.split('=== next ===\n').slice(1)
  for (const [index, { shown }] of steps.entries()) {
    let at = 0
    for (const line of shown) {
      const found = (printed[index] ?? '').indexOf(here(line), at)
      assert.ok(found >= 0, `${JSON.stringify(line)} is not in\n${printed[index]}`)
      at = found
    }
  }
})
