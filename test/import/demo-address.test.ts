import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { runDemo } from '../../src/import/commands.ts'
import { loadConfig } from '../../src/platform/config/load.ts'
import { temporaryFolder } from '../support/process.ts'

test('links of the demo have its port, unless an external address is configured', async () => {
  await using folder = await temporaryFolder()
  const addressOf = async (port: string, env: Record<string, string> = {}): Promise<string | undefined> => {
    let address: string | undefined
    const startServer = (config: { readonly externalUrl: string }) => {
      address = config.externalUrl
      return Promise.reject(new Error('seen'))
    }
    const config = loadConfig({ file: undefined, env, cwd: folder.path })
    const args = ['--data', join(folder.path, 'data'), '--port', port]
    await assert.rejects(runDemo(args, { config, startServer, ended: Promise.resolve() }), /seen/)
    return address
  }
  assert.equal(await addressOf('9999'), 'http://localhost:9999')
  assert.equal(await addressOf('9999', { SVC_EXTERNAL_URL: 'https://museum.test' }), 'https://museum.test')
})
