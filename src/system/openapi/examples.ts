import { readFile } from 'node:fs/promises'
import type { OpenApiDocument, OpenApiOperation } from './model.ts'

/** A request that was really made, and its answer; `examples.json` holds one for each operation. */
export interface Example {
  path?: Record<string, unknown>
  query?: Record<string, unknown>
  header?: Record<string, unknown>
  body?: unknown
  status: number
  answer?: unknown
}

/** Puts the recorded examples into the document. */
export async function addExamples(document: OpenApiDocument): Promise<OpenApiDocument> {
  const text = await readFile(new URL('./examples.json', import.meta.url), 'utf8')
  const examples = JSON.parse(text) as Record<string, Example>
  for (const path of Object.values(document.paths)) {
    for (const operation of Object.values(path)) {
      const example = examples[operation.operationId]
      if (example) addExample(operation, example)
    }
  }
  return document
}

function addExample(operation: OpenApiOperation, example: Example): void {
  for (const parameter of operation.parameters ?? []) {
    const value = example[parameter.in]?.[parameter.name]
    if (value !== undefined) parameter.example = value
  }
  const [sent] = Object.values(operation.requestBody?.content ?? {})
  if (sent && example.body !== undefined) sent.example = example.body
  const answered = operation.responses[example.status]?.content?.['application/json']
  if (answered && example.answer !== undefined) answered.example = example.answer
}
