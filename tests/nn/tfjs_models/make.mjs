import { createRequire } from "node:module";
import fs from "node:fs";
const require = createRequire(process.cwd()+"/");
const tf = require("@tensorflow/tfjs-core"); require("@tensorflow/tfjs-backend-cpu");
const L = require("@tensorflow/tfjs-layers");
const out = process.argv[2];
await tf.setBackend("cpu");
function saver(name){ return L && { async save(a){
  fs.mkdirSync(`${out}/${name}`,{recursive:true});
  const json={format:"layers-model",generatedBy:"TensorFlow.js tfjs-layers v4.22.0",convertedBy:null,modelTopology:a.modelTopology,weightsManifest:[{paths:["weights.bin"],weights:a.weightSpecs}]};
  fs.writeFileSync(`${out}/${name}/model.json`,JSON.stringify(json));
  fs.writeFileSync(`${out}/${name}/weights.bin`,Buffer.from(a.weightData));
  return {modelArtifactsInfo:{dateSaved:new Date(),modelTopologyType:"JSON"}}; } } }
async function emit(name, model, xs){
  for (const w of model.weights){ const v=w.read(); const isVar=/variance/.test(w.name);
    const r=tf.randomNormal(v.shape,0,0.3,'float32',Array.from(w.name).reduce((a,c)=>(a*31+c.charCodeAt(0))%10007,7)); w.write(isVar?tf.add(tf.abs(r),0.5):r); }
  const ys=model.predict(xs.length>1?xs:xs[0]);
  await model.save(saver(name));
  const dump=t=>({shape:t.shape,dtype:t.dtype,data:Array.from(t.dataSync()).map(v=>Number(v.toFixed(7)))});
  fs.writeFileSync(`${out}/${name}/expected.json`,JSON.stringify({inputs:xs.map(dump),outputs:(Array.isArray(ys)?ys:[ys]).map(dump)}));
}
const l=L.layers;
const seq=(ls)=>{const m=L.sequential(); ls.forEach(x=>m.add(x)); return m;};
const rn=(s,seed)=>tf.randomNormal(s,0,1,'float32',seed);
await emit("images", seq([
  l.conv2d({inputShape:[10,10,3],filters:4,kernelSize:3,padding:"same",activation:"relu"}),
  l.batchNormalization(), l.maxPooling2d({poolSize:2}),
  l.depthwiseConv2d({kernelSize:3,depthMultiplier:2,activation:"elu"}),
  l.separableConv2d({filters:5,kernelSize:2,padding:"same",activation:"tanh"}),
  l.zeroPadding2d({padding:[[1,0],[0,2]]}), l.upSampling2d({size:[2,2]}),
  l.conv2dTranspose({filters:3,kernelSize:3,strides:2,padding:"same",activation:"sigmoid"}),
  l.averagePooling2d({poolSize:2,strides:2,padding:"same"}), l.dropout({rate:0.3}), l.flatten(), l.dense({units:4,activation:"softmax"})]),[rn([2,10,10,3],1)]);
await emit("sequences", seq([
  l.embedding({inputDim:12,outputDim:6,inputLength:9}),
  l.conv1d({filters:5,kernelSize:3,padding:"same",dilationRate:2,activation:"relu"}),
  l.maxPooling1d({poolSize:2}), l.lstm({recurrentInitializer:'glorotNormal',units:4,returnSequences:true,recurrentActivation:"sigmoid"}),
  l.layerNormalization(), l.gru({recurrentInitializer:'glorotNormal',units:3,returnSequences:true}), l.lstm({recurrentInitializer:'glorotNormal',units:3}), l.leakyReLU({alpha:0.1}), l.dense({units:2,useBias:false})]),
  [tf.tensor2d(Array.from({length:18},(_,i)=>(i*7)%12),[2,9])]);
{ const a=L.input({shape:[6]}), b=L.input({shape:[4,4,2]});
  const shared=l.dense({units:5,activation:"relu"});
  const x=shared.apply(a), y=shared.apply(l.activation({activation:"tanh"}).apply(a));
  const c=l.globalAveragePooling2d({}).apply(l.conv2d({filters:5,kernelSize:2,strides:2,useBias:false}).apply(b));
  const g=l.globalMaxPooling2d({}).apply(b);
  const s=l.add().apply([x,y,c]), m=l.multiply().apply([x,c]);
  const cat=l.concatenate().apply([s,m,g]);
  const inner=seq([l.dense({units:6,inputShape:[12],activation:"selu"}), l.reshape({targetShape:[3,2]})]);
  const o=inner.apply(cat);
  await emit("graph", L.model({inputs:[a,b],outputs:[o,s]}),[rn([3,6],2),rn([3,4,4,2],3)]);
}
